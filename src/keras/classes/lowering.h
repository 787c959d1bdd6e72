// The interface of lowering for layers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/text.h"
#include "attn/graph/graph.h"
#include "attn/text/encoding.h"
#include "classes/arg.h"

namespace attn::keras {

class Layer;
struct Decoding;
struct Training;

/// Applies layers like keras.Layer.__call__, and adds their operations to a graph.
class Lowering {
 public:
  virtual ~Lowering() = default;

  [[nodiscard]] graph::Builder& builder() noexcept { return builder_; }
  /// Returns whether shapes are Keras's symbolic ones and may be unknown (for summaries), instead of those of a run.
  [[nodiscard]] bool symbolic() const noexcept { return symbolic_; }
  /// Whether only the shapes of the graph's values are used.
  bool only_shapes = false;
  /// Whether attention layers also return their probabilities.
  bool want_scores = false;
  /// Set in a decode step with a KV cache; null if whole sequences are lowered.
  Decoding* decoding = nullptr;
  /// Whether layers reproduce KerasHub's computation of a single new token, including its errors.
  bool keras_hub_step = false;
  /// The behavior of layers in training; null in a run.
  Training* training = nullptr;

  /// Returns whether the flow of masks is traced.
  [[nodiscard]] virtual bool watches_masks() const = 0;
  /// Called by a layer if its lowering for a summary omits the operations that use its masks.
  virtual void note_mask_use() = 0;
  /// Registers scores under the name of the current layer: "layer", and from its second call on "layer[1]".
  virtual void add_scores(graph::ValueId scores) = 0;

  /// Adds a graph input (int64) for the encoded strings of the current layer, with the integers of text::encode. Throws
  /// Error (bad_input) for an unsupported shape, and for a tensor that is not an input of the model.
  virtual graph::ValueId encoded_texts(const std::vector<TextSource>& texts,
                                       std::shared_ptr<const text::Encoding> encoding) = 0;

  /// Applies a layer. `args` is an ArgList and `kwargs` an ArgDict of resolved values. Throws Error (bad_input) with
  /// the layer's location, also if there are too many calls.
  virtual Arg apply(Layer& layer, const Arg& args, const Arg& kwargs) = 0;
  /// Returns the graph value of a layer's variable.
  virtual graph::ValueId weight(const Layer& layer, int index) = 0;

  /// Returns a value that several layers share, such as the angles of positions. `name` must include every parameter.
  /// The first call computes the value.
  template <typename Make>
  const std::vector<graph::ValueId>& common(const std::string& name, Make make) {
    const auto found = common_.find(name);
    return found != common_.end() ? found->second : common_.emplace(name, make()).first->second;
  }

  /// Returns Keras's automatic name for a layer without a name: "t5_layer_norm", then "t5_layer_norm_1".
  [[nodiscard]] std::string automatic_name(std::string_view class_name) {
    const std::string base = snake_case(class_name);
    const int earlier = automatic_names_[base]++;
    return earlier == 0 ? base : base + '_' + std::to_string(earlier);
  }

  /// Returns the names of the current nested models ("block/"), which precede the names of layers in the graph.
  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }

 protected:
  Lowering(graph::Graph& graph, bool symbolic) : builder_(graph), symbolic_(symbolic) {}

 private:
  graph::Builder builder_;
  bool symbolic_;
  std::string scope_;
  std::map<std::string, std::vector<graph::ValueId>> common_;
  std::map<std::string, int> automatic_names_;
};

/// Adds the name of an outer layer to the names of inner layers during a call: "bidirectional/forward_lstm".
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
