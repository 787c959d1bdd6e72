// Functional models: layers and the graph of their calls. A model is a layer itself, so models nest.
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

  /// Reads one member: a layer object with name and inbound_nodes.
  void add(const Ref& ref, std::vector<std::string>& warnings);
  void add(LayerPtr layer);
  /// A member that another model owns, which lives as long as this one: their calls are told apart by their numbers.
  void borrow(Layer& layer);
  /// Connects the calls; every name and index is checked. Throws Error (bad_input).
  void connect();
  void finish_reading(const Document& document, std::size_t before) override;
  /// Lowers the model once on its own input layers, with unknown dimensions, so that every layer is built and knows the
  /// shapes of its calls.
  virtual void build_symbolic();
  /// Lowers all calls. `inputs` stand for the input layers, in order.
  std::vector<TensorPtr> run(Lowering& lowering, const std::vector<TensorPtr>& inputs, bool record);

  /// The layer that stands for this one: Keras holds a layer of the model that a model inside it has too as one object,
  /// and a file writes it twice.
  [[nodiscard]] const Layer* one(const Layer& layer) const override;
  [[nodiscard]] const std::map<const Layer*, const Layer*>& ones() const noexcept { return ones_; }

  /// Rows of a summary: all operations, by decreasing depth.
  [[nodiscard]] std::vector<Layer*> operations() const;
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  [[nodiscard]] Layer* member(int index) const { return members_[static_cast<std::size_t>(index)]; }
  /// The layer called `name`, or null.
  [[nodiscard]] Layer* find(std::string_view name) const;
  /// Keras prints no "Connected to" for a chain.
  [[nodiscard]] virtual bool sequential_like() const;
  /// "layer[0][0]" for every tensor that the calls of `layer` read.
  [[nodiscard]] std::vector<std::string> connections(const Layer& layer) const;
  [[nodiscard]] std::vector<Layer*> input_layers() const;

  Arg input_struct, output_struct;  ///< TensorRefs, in lists or dicts
  bool connected = false;

 protected:
  /// Keeps what a subclass of somebody's own writes into its config beside `keys`.
  void keep_own_keys(Fields& f, std::initializer_list<std::string_view> keys);
  Json own_keys_ = Json::object();  ///< what it has kept

  /// What build_symbolic() found a result to be.
  struct Result {
    Shape shape;
    DType dtype;
    bool masked = false;
  };
  /// The results of a call where only their shapes are wanted and `inputs` are as those that the model was built on, as
  /// keras.Functional.compute_output_spec has it; else nothing. Masks have to be followed through the calls.
  [[nodiscard]] std::optional<std::vector<TensorPtr>> known_results(Lowering& lowering,
                                                                    const std::vector<TensorPtr>& inputs) const;

  [[nodiscard]] bool is_wrong(const std::string& layer_name) const { return wrong_.contains(layer_name); }
  /// Where problems are collected (Document::attempt): those of the names and indices of calls, and of the shapes as
  /// far as calls take only what is right.
  void check_what_is_right(const Document& document);
  /// Lowers every call of layers that are right on results of such.
  void check_calls(const Document& document);

  [[nodiscard]] bool is_functional_member(std::string_view layer) const;
  [[nodiscard]] NodeKey producer(const TensorRef& ref, const std::string& pointer) const;

  /// Layers in the order of the file, the first of each name and id.
  struct Met {
    std::map<std::string, Layer*> by_name;
    std::map<std::int64_t, Layer*> by_id;
  };
  /// Makes one of layers that `model` and models inside it share by an id.
  void pair_shared(Functional& model, Met& met);
  /// Makes a layer and all below it one with the other and what is below that.
  void pair(Layer& layer, Layer& with);
  /// Results of a call that cannot be lowered: of the shapes that their readers were built for, else unknown.
  [[nodiscard]] std::vector<TensorPtr> told_results(Lowering& lowering, const NodeKey& node);

  std::vector<LayerPtr> owned_;
  std::vector<Layer*> members_;  ///< what is owned, and what is borrowed
  std::map<std::string, int, std::less<>> index_;
  Topology topology_;
  std::vector<std::vector<std::vector<TensorRef>>> reads_;  ///< per member and call, in order of arguments
  std::vector<TensorRef> inputs_, outputs_;
  std::vector<Result> known_results_;  ///< empty before it is built
  std::map<const Layer*, const Layer*> ones_;
  std::optional<UnknownResults> unknown_results_;
  std::set<std::string> wrong_;  ///< names of members that have problems or could not be read
};

/// Throws Error (bad_input) for the first layer of somebody's own class in a model.
void refuse_custom(Layer& root);

[[nodiscard]] Family functional_classes();

}  // namespace attn::keras
