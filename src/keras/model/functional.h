// Functional models: layers and the graph of their calls. A model is also a layer, so models can be nested.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "classes/layer.h"
#include "classes/lowering.h"
#include "model/topology.h"
#include "model/unknown_results.h"

namespace attn::keras {

/// keras.Functional: layers and operations with the calls that connect them.
class Functional : public Layer {
 public:
  void config(Fields& f) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  Arg call(Call& call) override;
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }
  [[nodiscard]] std::vector<Layer*> layers() const override;
  [[nodiscard]] std::vector<Sublayer> sublayers() override;
  [[nodiscard]] bool is_model() const override { return true; }
  [[nodiscard]] bool is_functional() const override { return true; }

  /// Reads one member: a layer object with a name and inbound_nodes.
  void add(const Ref& ref, std::vector<std::string>& warnings);
  void add(LayerPtr layer);
  /// Adds a member that another model owns, which must outlive this model. The indices of calls distinguish the calls
  /// of the two models.
  void borrow(Layer& layer);
  /// Connects the calls, and checks every name and index. Throws Error (bad_input).
  void connect();
  void finish_reading(const Document& document, std::size_t before) override;
  /// Lowers the model once for its own input layers, with unknown dimensions. Afterwards every layer is built and knows
  /// the shapes of its calls.
  virtual void build_symbolic();
  /// Lowers all calls; `inputs` replace the input layers, in order.
  std::vector<TensorPtr> run(Lowering& lowering, const std::vector<TensorPtr>& inputs, bool record);

  /// Returns the layer that represents `layer`. If a nested model contains a layer of this model, Keras holds one
  /// object, but a file contains it twice.
  [[nodiscard]] const Layer* one(const Layer& layer) const override;
  [[nodiscard]] const std::map<const Layer*, const Layer*>& ones() const noexcept { return ones_; }

  /// Returns the rows of a summary: all operations, by decreasing depth.
  [[nodiscard]] std::vector<Layer*> operations() const;
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  [[nodiscard]] Layer* member(int index) const { return members_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const std::vector<Layer*>& members() const noexcept { return members_; }
  /// Returns the layer named `name`, or null.
  [[nodiscard]] Layer* find(std::string_view name) const;
  /// Returns whether Keras omits "Connected to", as for a chain.
  [[nodiscard]] virtual bool sequential_like() const;
  /// Returns "layer[0][0]" for every tensor that the calls of `layer` read.
  [[nodiscard]] std::vector<std::string> connections(const Layer& layer) const;
  [[nodiscard]] std::vector<Layer*> input_layers() const;
  /// Returns the layer of each output: Keras's output_names.
  [[nodiscard]] std::vector<std::string> output_layers() const;

  Arg input_struct, output_struct;  ///< trees of TensorRefs, in lists or dicts
  bool connected = false;

 protected:
  /// Keeps the keys that a custom subclass writes into its config, besides `keys`.
  void keep_own_keys(Fields& f, std::initializer_list<std::string_view> keys);
  Json own_keys_ = Json::object();  ///< the keys that keep_own_keys() has kept

  /// A result of a call, as determined by build_symbolic().
  struct Result {
    Shape shape;
    DType dtype;
    bool masked = false;
  };
  /// Returns the results of a call without lowering it, as keras.Functional.compute_output_spec does. This works if
  /// only shapes are needed, and the inputs have the shapes with which the model was built; otherwise returns empty.
  /// Masks still require lowering of the calls.
  [[nodiscard]] std::optional<std::vector<TensorPtr>> known_results(Lowering& lowering,
                                                                    const std::vector<TensorPtr>& inputs) const;

  [[nodiscard]] bool is_wrong(const std::string& layer_name) const { return wrong_.contains(layer_name); }
  /// Checks the names and indices of all calls, and the shapes of the calls whose inputs are valid. Used while problems
  /// are collected (Document::attempt).
  void check_valid_parts(const Document& document);
  /// Lowers every call of valid layers with valid inputs.
  void check_calls(const Document& document);

  [[nodiscard]] bool is_functional_member(std::string_view layer) const;
  [[nodiscard]] NodeKey producer(const TensorRef& ref, const std::string& pointer) const;

  /// The layers in the order of the file: the first of each name and id.
  struct FirstLayers {
    std::map<std::string, Layer*> by_name;
    std::map<std::int64_t, Layer*> by_id;
  };
  /// Replaces layers that have the same id in `model` and in nested models by a single layer.
  void pair_shared(Functional& model, FirstLayers& met);
  /// Makes `with` represent `layer`, and each layer below `with` the corresponding one below `layer`.
  void pair(Layer& layer, Layer& with);
  /// Returns the results of a call that cannot be lowered. They have the shapes for which their readers were built,
  /// otherwise unknown shapes.
  [[nodiscard]] std::vector<TensorPtr> expected_results(Lowering& lowering, const NodeKey& node);

  std::vector<LayerPtr> owned_;
  std::vector<Layer*> members_;  ///< owned and borrowed members
  std::map<std::string, int, std::less<>> index_;
  Topology topology_;
  /// The tensors that a call reads: [member][call], in order of arguments.
  std::vector<std::vector<std::vector<TensorRef>>> reads_;
  std::vector<TensorRef> inputs_, outputs_;
  std::vector<Result> known_results_;  ///< empty before the model is built
  std::map<const Layer*, const Layer*> ones_;
  std::optional<UnknownResults> unknown_results_;
  std::set<std::string> wrong_;  ///< names of members that have problems or could not be read
};

/// Throws Error (bad_input) for the first custom layer of a model.
void refuse_custom(Layer& root);

[[nodiscard]] Family functional_classes();

}  // namespace attn::keras
