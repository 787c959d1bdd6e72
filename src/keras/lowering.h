// Applies layers as keras.Layer.__call__ does: casts, binds arguments, builds, calls, and hangs masks on the results.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "layer.h"

namespace attn::keras {

/// A config of some kilobytes can nest models that call each other twice, and so on: what would take hours is refused.
inline constexpr std::size_t kMostCalls = 100'000;          // of layers, those of inner models at each call of theirs
inline constexpr std::size_t kMostRepeats = 20'000;         // calls of layers that were called before
inline constexpr std::size_t kMostNameBytes = 16UL << 20U;  // of "block/dense", over all layers or calls

/// What is said where names pass kMostNameBytes.
[[nodiscard]] std::string too_long_names();

class MaskRecorder;

/// An Error that already names the layer it happened in, so that the models around it leave it alone.
class PlacedError : public ConfigError {
 public:
  explicit PlacedError(const Error& error) : ConfigError(problem_of(error)) {}
};

class Lowering {
 public:
  /// `symbolic`: shapes may be unknown and Keras's symbolic shapes are shown (for summaries); else for a run.
  Lowering(graph::Graph& graph, bool symbolic) : builder_(graph), symbolic_(symbolic) {}

  [[nodiscard]] graph::Builder& builder() noexcept { return builder_; }
  [[nodiscard]] bool symbolic() const noexcept { return symbolic_; }
  /// Watches masks where it is given.
  MaskRecorder* recorder = nullptr;
  /// A layer says so where a lowering for a summary leaves out the operations that use its masks.
  void note_mask_use() noexcept { mask_used_ = true; }
  /// Is the graph of no use but for the shapes of its values?
  bool only_shapes = false;
  /// Should attention layers give their probabilities too?
  bool want_scores = false;
  /// Of the layer that is called: "layer", from its second call on "layer[1]".
  void add_scores(graph::ValueId scores);

  /// One call. `args` is an ArgList and `kwargs` an ArgDict of resolved values. Throws Error (bad_input) with the
  /// layer's place, also where the calls become too many.
  Arg apply(Layer& layer, const Arg& args, const Arg& kwargs);
  /// Declares a layer's variable under its full name, before anything uses it.
  void declare(const Layer& layer, int index, const graph::WeightSpec& spec) {
    weights_[{&layer, index}] = builder_.weight(spec);
  }
  /// The layer of each of the graph's layers.
  [[nodiscard]] const std::vector<const Layer*>& callees() const noexcept { return callees_; }
  /// The value of a layer's variable.
  graph::ValueId weight(const Layer& layer, int index);

  /// "block/": the nested models that are open, for the names of layers in the graph.
  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }

 private:
  std::map<std::string, Arg, std::less<>> bind(Layer& layer, const Arg& args, const Arg& kwargs);
  /// Arrays become tensors, and tensors of floats get the dtype that the layer wants, if any.
  Arg as_inputs(const Arg& arg, std::optional<DType> dtype);
  void fill_masks(Layer& layer, std::map<std::string, Arg, std::less<>>& bound);
  void count(const Layer& layer);

  graph::Builder builder_;
  bool symbolic_;
  std::string scope_;
  Layer* current_ = nullptr;
  std::vector<const Layer*> callees_;
  std::set<const Layer*> called_;
  std::size_t name_bytes_ = 0;
  bool mask_used_ = false;
  std::map<std::string, int> scores_given_;  // by layer
  bool watching_ = true;                     // the layer around is a model whose calls are rows
  std::map<std::pair<const Layer*, int>, graph::ValueId> weights_;
};

/// Names the layers inside another ("bidirectional/forward_lstm") for the time of a call.
class LayerScope {
 public:
  LayerScope(Lowering& lowering, const std::string& name) : lowering_(lowering), outer_(lowering.scope()) {
    lowering.set_scope(outer_ + name + "/");
  }
  ~LayerScope() { lowering_.set_scope(outer_); }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  Lowering& lowering_;
  std::string outer_;
};

}  // namespace attn::keras
