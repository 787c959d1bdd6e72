// The vocabulary of a lookup layer, from its config or from an archive
// (keras/src/layers/preprocessing/index_lookup.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/text/encoding.h"
#include "classes/assets.h"
#include "config/fields.h"

namespace attn::keras {

/// A list of terms, and their weights. Integers are stored as decimal texts.
class Vocabulary {
 public:
  /// The settings of the layer.
  struct Rules {
    std::optional<std::string> mask;  ///< the term that stands for padding
    std::string other;                ///< the text for terms outside the vocabulary
    std::int64_t others = 1;          ///< number of indices for terms outside the vocabulary
    bool in_rows = false;             ///< indices of a row are counted, so padding has no index
    bool invert = false;
    bool weighs = false;
    std::optional<std::int64_t> most;
    bool pads = false;  ///< pads to `most`
    bool integers = false;

    [[nodiscard]] std::int64_t first_other() const { return mask && !in_rows ? 1 : 0; }
    [[nodiscard]] std::int64_t first() const { return first_other() + others; }
  };

  // Reads or writes the vocabulary in the config.
  void list(Fields& f);
  void weights(Fields& f);
  /// `unknown` is Keras's value for a layer that was never adapted.
  void size(Fields& f, const Rules& rules, std::optional<std::int64_t> unknown = {});

  /// Reads the config's vocabulary. Problems have the locations in `config`.
  void settle(const Rules& rules, const Ref& config);
  /// Loads the vocabulary of an archive, if the config has none. Throws Error (bad_input).
  void take(const Rules& rules, const Assets& assets);
  /// Stores everything for the config.
  void state(const Rules& rules);

  [[nodiscard]] bool known() const noexcept { return terms_.has_value(); }
  /// Returns the terms except those for padding and for unknown terms.
  [[nodiscard]] const std::vector<std::string>& terms() const { return *terms_; }
  /// Returns the largest index + 1, including that of padding; empty if unknown.
  [[nodiscard]] std::optional<std::int64_t> depth(const Rules& rules) const;
  /// Returns counts times the weight of each index. Throws Error (bad_input) if the weights are missing, unless only
  /// the shape is needed.
  [[nodiscard]] graph::ValueId weighed(graph::Builder& b, graph::ValueId counts, bool symbolic) const;
  /// Returns the layer's arrays in .weights.h5, by name.
  [[nodiscard]] std::vector<NamedTensor> arrays() const;
  [[nodiscard]] text::Lookup lookup(const Rules& rules, std::optional<text::Salt> salt) const;
  /// Returns the reason why strings cannot be looked up, or "".
  [[nodiscard]] std::string missing() const;

 private:
  [[nodiscard]] Tensor idf_tensor() const;
  void accept(std::vector<std::string> given, const std::vector<double>& idf, const Rules& rules);

  Json json_, idf_json_;
  std::optional<std::int64_t> size_;
  std::optional<std::vector<std::string>> terms_;
  std::vector<double> idf_;  ///< a weight for each index; empty if missing
};

/// Reads a salt: null, an integer, or a list of two.
[[nodiscard]] std::optional<text::Salt> read_salt(const Json& json, const Ref& config);

}  // namespace attn::keras
