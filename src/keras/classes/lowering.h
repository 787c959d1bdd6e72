// What a layer may ask of the lowering that calls it.
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

/// Applies layers as keras.Layer.__call__ does, and adds their operations to a graph.
class Lowering {
 public:
  virtual ~Lowering() = default;

  [[nodiscard]] graph::Builder& builder() noexcept { return builder_; }
  /// May shapes be unknown, and are they Keras's symbolic ones (for summaries)? Else it is for a run.
  [[nodiscard]] bool symbolic() const noexcept { return symbolic_; }
  /// Is the graph of no use but for the shapes of its values?
  bool only_shapes = false;
  /// Should attention layers give their probabilities too?
  bool want_scores = false;
  /// Of new tokens that go on with what is cached; null for whole sequences.
  Decoding* decoding = nullptr;
  /// Should layers compute what KerasHub's do for one new token also where they are wrong?
  bool keras_hub_step = false;
  /// What layers do in training; null where they do what they do in a run.
  Training* training = nullptr;

  /// Does somebody watch where masks go?
  [[nodiscard]] virtual bool watches_masks() const = 0;
  /// A layer says so where a lowering for a summary leaves out the operations that use its masks.
  virtual void note_mask_use() = 0;
  /// Keeps the scores under the name of the layer that is called: "layer", and from its second call on "layer[1]".
  virtual void add_scores(graph::ValueId scores) = 0;

  /// What the layer that is called makes of strings: an input of the graph, int64, for the integers that text::encode
  /// gives. Throws Error (bad_input) for a shape that the encoding does not take, and for what is no input of the
  /// model.
  virtual graph::ValueId encoded_texts(const std::vector<TextSource>& texts,
                                       std::shared_ptr<const text::Encoding> encoding) = 0;

  /// One call. `args` is an ArgList and `kwargs` an ArgDict of resolved values. Throws Error (bad_input) with the
  /// layer's place, also where the calls become too many.
  virtual Arg apply(Layer& layer, const Arg& args, const Arg& kwargs) = 0;
  /// The value of a layer's variable.
  virtual graph::ValueId weight(const Layer& layer, int index) = 0;

  /// Values that several layers make alike, such as the angles of positions. `name` tells all that they depend on; the
  /// first who asks makes them.
  template <typename Make>
  const std::vector<graph::ValueId>& common(const std::string& name, Make make) {
    const auto found = common_.find(name);
    return found != common_.end() ? found->second : common_.emplace(name, make()).first->second;
  }

  /// The name that Keras gives to a layer that was not told one: "t5_layer_norm", and from the second on
  /// "t5_layer_norm_1".
  [[nodiscard]] std::string automatic_name(std::string_view class_name) {
    const std::string base = snake_case(class_name);
    const int earlier = automatic_names_[base]++;
    return earlier == 0 ? base : base + '_' + std::to_string(earlier);
  }

  /// "block/": the nested models that are open, for the names of layers in the graph.
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
