// What every Keras layer and operation is to us: fields, weights, a lowering to operations, and a rule for masks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/graph/graph.h"
#include "fields.h"

namespace attn::keras {

class Call;
class Lowering;
struct LayerRow;

/// A tensor on its way through a model, with its `_keras_mask`. Keras hangs the mask on the object and layers may take
/// it off again, so identity matters: a layer that returns its input returns the same object.
struct KerasTensor {
  graph::ValueId id = graph::kNone;
  std::optional<graph::ValueId> mask;  // bool
};
using TensorPtr = std::shared_ptr<KerasTensor>;
using Masks = std::vector<std::optional<graph::ValueId>>;

/// keras_history of a tensor in a config.
struct TensorRef {
  std::string layer;
  int node = 0;
  int tensor = 0;
};

/// A constant array in a config; rank 0 for NumPy scalars.
struct ConstantArg {
  Tensor tensor;
};

struct SliceArg {
  graph::Range range;
};

/// `...` in a subscript, and `None` which inserts an axis, are told apart from a missing argument.
struct EllipsisArg {};
struct NoneArg {};

/// An argument of a call: tensors, plain values, and lists or dicts of them.
struct Arg;
using ArgList = std::vector<Arg>;
using ArgDict = std::vector<std::pair<std::string, Arg>>;
struct Arg {
  std::variant<NoneArg, bool, std::int64_t, double, std::string, DType, TensorRef, TensorPtr, ConstantArg, SliceArg,
               EllipsisArg, ArgList, ArgDict>
      value;

  Arg() = default;
  template <typename T>
  Arg(T v) : value(std::move(v)) {}  // NOLINT: an argument is any of these

  [[nodiscard]] bool is_none() const { return std::holds_alternative<NoneArg>(value); }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&value);
  }
};

/// Every tensor of an argument as keras.tree.flatten has them: depth first, dicts by sorted keys.
void collect_tensors(const Arg& arg, std::vector<TensorPtr>& out);
[[nodiscard]] std::vector<TensorPtr> tensors_of(const Arg& arg);

/// Declares the variables of a layer in the order in which Keras creates them.
class Weights {
 public:
  Weights(std::vector<graph::WeightSpec>& out, DType dtype, bool trainable)
      : out_(out), dtype_(dtype), trainable_(trainable) {}

  /// A variable of the current scope; returns its index in the layer.
  int add(std::string_view name, Shape shape, const graph::Initializer& initializer, bool trainable = true);
  int add(std::string_view name, Shape shape, const Initializer& initializer, bool trainable = true) {
    return add(name, std::move(shape), initializer.value, trainable);
  }
  /// Runs `body` inside a sublayer: `name` is its name in variable paths, `attribute` its key in .weights.h5. An empty
  /// name adds nothing to the path.
  template <typename Body>
  void scope(std::string_view name, std::string_view attribute, Body&& body) {
    const std::string path = path_, store = store_;
    const int count = count_;
    if (!name.empty()) path_ += std::string(name) + "/";
    if (!attribute.empty()) store_ += std::string(attribute) + "/";
    count_ = 0;
    body();
    path_ = path;
    store_ = store;
    count_ = count;
  }
  /// Counts a variable of a sublayer that the layer holds as its own too.
  void count_borrowed() noexcept { ++count_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  void set_dtype(DType dtype) noexcept { dtype_ = dtype; }
  /// Variables of sublayers that the layer makes when it is built do not take over its `trainable`.
  void set_trainable(bool trainable) noexcept { trainable_ = trainable; }

 private:
  std::vector<graph::WeightSpec>& out_;
  DType dtype_;
  bool trainable_;
  std::string path_, store_;
  int count_ = 0;
};

/// One call of a layer in a config.
struct NodeSpec {
  Arg args;             // ArgList
  Arg kwargs;           // ArgDict
  std::string pointer;  // where it stands in the file, for messages
};

class Layer {
 public:
  virtual ~Layer() = default;

  // ---- what the config says
  std::string name;
  bool trainable = true;
  DTypePolicy policy;
  Json activity_regularizer;           ///< null: none
  const LayerRow* row = nullptr;       ///< class name and module
  std::vector<NodeSpec> nodes;         ///< its calls in the model around it
  Json envelope = Json::object();      ///< module, registered_name, build_config, inbound_nodes as read
  std::string pointer;                 ///< where its config stands, for messages
  const Document* document = nullptr;  ///< null for what no file holds

  /// Everything get_config() holds, in Keras's order: name, trainable, dtype, then the class's own fields.
  virtual void config(Fields& f);
  /// The class's own fields.
  virtual void fields(Fields&) {}
  /// Checks what fields cannot check alone, after reading; `config` is for messages.
  virtual void check(const Ref& /*config*/) {}

  // ---- calls
  /// Names of call()'s arguments, in order. Only these may be given; "mask" and "x_mask" are filled from tensors.
  [[nodiscard]] virtual std::span<const std::string_view> arguments() const;
  /// Is the first argument a list of tensors (merge layers, Attention)?
  [[nodiscard]] virtual bool takes_list() const { return false; }
  /// Declares the variables; runs once, before the first call. Shapes come from the call.
  virtual void build(Weights&, Call&) {}
  /// Adds operations for one call and gives its results: a TensorPtr, an ArgList or an ArgDict.
  virtual Arg call(Call& call) = 0;
  /// The longest sequence that it takes; nothing: any.
  [[nodiscard]] virtual std::optional<std::int64_t> most_positions() const { return std::nullopt; }
  /// Shapes that Keras's summary shows where its symbolic shapes differ from what is computed; nothing: they agree.
  [[nodiscard]] virtual std::optional<std::vector<Shape>> symbolic_shapes(Call&) { return std::nullopt; }

  // ---- masks (keras/src/layers/layer.py, steps 6 and after 7)
  /// Where not, the mask of the input is lost, and Keras warns.
  [[nodiscard]] virtual bool supports_masking() const { return false; }
  /// The masks of the outputs, from those of the first argument's tensors. An output that already has one keeps it.
  [[nodiscard]] virtual Masks compute_mask(Call&, const Masks& previous) { return previous; }
  /// The dtype that float inputs are cast to before the call; nothing: they stay.
  [[nodiscard]] virtual std::optional<DType> input_dtype() const { return policy.compute; }
  /// Operations (keras.ops) are no layers: no weights, no dtype, no mask, no "built".
  [[nodiscard]] virtual bool is_operation() const { return false; }
  /// The layers that `model.layers` lists, for models; else empty.
  [[nodiscard]] virtual std::vector<Layer*> layers() const { return {}; }
  /// The layers whose variables follow this layer's own.
  struct Sublayer {
    Layer* layer = nullptr;
    std::string path;       ///< what their variable paths add to this layer's, with its "/"
    std::string store;      ///< what their keys in .weights.h5 add to this layer's: "layers/dense/", "forward_layer/"
    bool detached = false;  ///< its paths do not continue this layer's: it was built before
  };
  [[nodiscard]] virtual std::vector<Sublayer> sublayers() { return {}; }
  /// The variable of the first sublayer that this layer holds as its own too, before those it declares: its index
  /// there.
  [[nodiscard]] virtual std::optional<int> borrowed_weight() const { return std::nullopt; }

  /// Members of the model around that its config shares by an id with layers inside other layers: takes those that this
  /// layer holds too.
  virtual void share(const std::map<std::int64_t, Layer*>& /*members*/) {}

  // ---- what lowering found out
  bool built = false;
  std::vector<graph::WeightSpec> weights;       ///< names relative to the layer
  std::vector<std::vector<Shape>> node_shapes;  ///< output shapes of each symbolic call, flat

  [[nodiscard]] std::string_view class_name() const;
  /// Does it come from a Keras 2 model, whose rules for masks are its own?
  [[nodiscard]] bool follows_keras2() const { return document != nullptr && document->is_keras2(); }
  /// Throws Error (bad_input) with this layer's place.
  [[noreturn]] void fail(const std::string& message) const;
};

/// A call in progress: the bound arguments, and the tools to lower it.
class Call {
 public:
  Call(Lowering& lowering, Layer& layer, std::map<std::string, Arg, std::less<>> bound)
      : lowering_(lowering), layer_(layer), bound_(std::move(bound)) {}

  [[nodiscard]] Lowering& lowering() noexcept { return lowering_; }
  [[nodiscard]] graph::Builder& builder() noexcept;
  [[nodiscard]] Layer& layer() noexcept { return layer_; }

  [[nodiscard]] bool has(std::string_view name) const;  ///< given, and not None
  [[nodiscard]] const Arg& arg(std::string_view name) const;
  void set(std::string_view name, Arg value) { bound_[std::string(name)] = std::move(value); }
  /// The tensor argument; fails with a sentence where it is missing or no tensor.
  [[nodiscard]] TensorPtr tensor(std::string_view name) const;
  [[nodiscard]] TensorPtr optional_tensor(std::string_view name) const;  ///< null where absent
  /// A list of tensors (merge layers).
  [[nodiscard]] std::vector<TensorPtr> tensors(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name, bool missing = false) const;
  [[nodiscard]] Shape shape(const TensorPtr& tensor);
  [[nodiscard]] Shape shape(std::string_view name) { return shape(tensor(name)); }

  /// The layer's variable, cast to the compute dtype (Keras's autocast scope) or as it is stored.
  graph::ValueId weight(int index);
  graph::ValueId raw_weight(int index);
  /// A result without a mask.
  [[nodiscard]] static TensorPtr result(graph::ValueId id) {
    return std::make_shared<KerasTensor>(KerasTensor{id, {}});
  }
  [[nodiscard]] DType compute_dtype() const;

 private:
  Lowering& lowering_;
  Layer& layer_;
  std::map<std::string, Arg, std::less<>> bound_;
};

}  // namespace attn::keras
