// A model under study: its graph for given prompts, and its passes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/probe/points.h"
#include "attn/run/session.h"
#include "attn/run/weight_supply.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::probe {

using Id = tokenizers::Id;

/// The tokens of one pass. A model with an encoder reads `encoder` there, and `ids` in its decoder.
struct Prompt {
  std::vector<Id> ids, encoder;
  std::optional<std::string> text;  ///< empty if ids were given
};

/// A factor for the value of a point in every pass.
struct Scaling {
  std::string point;
  double factor = 1.0;
};

/// A graph for a number of rows, with its points after the scalings.
struct Lowered {
  graph::Graph graph;
  Points points;
  std::int64_t length = 0;                        ///< number of tokens in each row
  std::optional<std::int64_t> vocabulary = {};    ///< number of rows of the token table; empty if the model has none
  std::optional<std::int64_t> fixed_length = {};  ///< number of tokens that a row must have, if it is not `length`
};

/// Values by their ids in the lowered graph, which are the same for every number of rows.
using Values = std::map<graph::ValueId, Tensor>;

/// Reads weights before its first pass. All passes share them, packed once. Not thread-safe. The arguments of the
/// constructor must outlive it.
class Subject {
 public:
  Subject(const open::LoadedModel& loaded, const open::Execution& execution, const backends::Backend& backend,
          const open::Listener& listener, std::vector<Scaling> scalings = {});
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  [[nodiscard]] const open::LoadedModel& loaded() const { return loaded_; }
  [[nodiscard]] const open::Execution& execution() const { return execution_; }
  [[nodiscard]] const backends::Backend& backend() const { return backend_; }
  [[nodiscard]] const open::Listener& listener() const { return listener_; }
  [[nodiscard]] bool has_encoder() const { return has_encoder_; }
  /// Returns whether logits at a position predict the next token. Those of a masked language model predict its own.
  [[nodiscard]] bool predicts_next() const;

  /// Lowers the model for `rows` copies of prompts of this length. Throws Error, naming the model's class, if it reads
  /// no token ids or has no attention with a residual stream.
  [[nodiscard]] Lowered lower(std::int64_t rows, const Prompt& length) const;
  /// Throws Error (bad_input) if the model ends in hidden states, or if its logits are neither one row for each token
  /// nor classes of the text.
  void require_logits(const Lowered& lowered) const;
  /// Throws Error (bad_input), naming the layer, if weights are quantized, because such weights have no gradients.
  void require_gradients(const Lowered& lowered) const;

  /// Returns the arrays of the inputs for prompts of equal lengths; those of replaced values are zeros. Throws Error
  /// (usage) for an id outside the vocabulary.
  [[nodiscard]] std::vector<Tensor> inputs(const graph::Graph& graph, std::span<const Prompt> rows) const;
  /// Compiles a graph for its outputs. Throws Error (no_memory) if it does not fit, which `fits` shows before.
  [[nodiscard]] std::unique_ptr<run::Session> compile(graph::Graph graph) const;
  /// Returns whether compile() of the graph would fit into memory.
  [[nodiscard]] bool fits(const graph::Graph& graph) const;

  /// Runs the prompt, and returns copies of values. `lowered` is for one row.
  [[nodiscard]] Values run(const Lowered& lowered, const Prompt& prompt, std::span<const graph::ValueId> values) const;

 private:
  const open::LoadedModel& loaded_;
  const open::Execution& execution_;
  const backends::Backend& backend_;
  const open::Listener& listener_;
  std::vector<Scaling> scalings_;
  bool has_encoder_ = false;
  backends::CompileOptions compile_;
  mutable run::WeightSupply weights_;
};

}  // namespace attn::probe
