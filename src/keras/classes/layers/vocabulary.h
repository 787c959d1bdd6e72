// The vocabulary of a layer that looks terms up, as its config or an archive holds it
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

/// A list of terms, and numbers by which they are weighed. Terms of integers are their decimals.
class Vocabulary {
 public:
  /// What the layer around says of it.
  struct Rules {
    std::optional<std::string> mask;  ///< the term of padding
    std::string other;                ///< stands for terms that are not in it
    std::int64_t others = 1;          ///< how many indices these have
    bool in_rows = false;             ///< the indices are counted, so that padding has none
    bool invert = false;
    bool weighs = false;
    std::optional<std::int64_t> most;
    bool pads = false;  ///< to `most`
    bool integers = false;

    [[nodiscard]] std::int64_t first_other() const { return mask && !in_rows ? 1 : 0; }
    [[nodiscard]] std::int64_t first() const { return first_other() + others; }
  };

  // The keys of the config.
  void list(Fields& f);
  void weights(Fields& f);
  /// `unknown` is what Keras writes of a layer that was never adapted.
  void size(Fields& f, const Rules& rules, std::optional<std::int64_t> unknown = {});

  /// Takes what the config holds. Problems are told at their places in `config`.
  void settle(const Rules& rules, const Ref& config);
  /// Takes what an archive holds, where the config holds none. Throws Error (bad_input).
  void take(const Rules& rules, const Assets& assets);
  /// From here on the config holds it all.
  void state(const Rules& rules);

  [[nodiscard]] bool known() const noexcept { return terms_.has_value(); }
  /// Without those that stand for padding and for others.
  [[nodiscard]] const std::vector<std::string>& terms() const { return *terms_; }
  /// One more than the largest index, padding of the result counted in; nothing where nothing tells it.
  [[nodiscard]] std::optional<std::int64_t> depth(const Rules& rules) const;
  /// Rows of counts times the weight of each index. Throws Error (bad_input) where these are not there, unless only
  /// the shape is wanted.
  [[nodiscard]] graph::ValueId weighed(graph::Builder& b, graph::ValueId counts, bool symbolic) const;
  /// What .weights.h5 keeps of it, by the name there.
  [[nodiscard]] std::vector<NamedTensor> arrays() const;
  [[nodiscard]] text::Lookup lookup(const Rules& rules, std::optional<text::Salt> salt) const;
  /// Why strings cannot be looked up, or "".
  [[nodiscard]] std::string missing() const;

 private:
  [[nodiscard]] Tensor idf_tensor() const;
  void accept(std::vector<std::string> given, const std::vector<double>& idf, const Rules& rules);

  Json json_, idf_json_;
  std::optional<std::int64_t> size_;
  std::optional<std::vector<std::string>> terms_;
  std::vector<double> idf_;  ///< a weight for each index; empty where they are not there
};

/// Null, an integer, or a list of two.
[[nodiscard]] std::optional<text::Salt> read_salt(const Json& json, const Ref& config);

}  // namespace attn::keras
