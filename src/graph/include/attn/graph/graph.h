// The intermediate representation: values (tensor slots) and nodes (operations on them) in executable order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/base/size.h"
#include "attn/base/tensor.h"
#include "attn/graph/op.h"
#include "attn/graph/weight.h"

namespace attn::graph {

/// Indices into Graph::values, nodes and layers.
using ValueId = std::int32_t;
using NodeId = std::int32_t;
using LayerId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

/// Returns an id as an index into a vector.
[[nodiscard]] constexpr std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

enum class ValueKind : std::uint8_t {
  input,     ///< passed by the caller of a run
  weight,    ///< Graph::weights[weight], bound once
  constant,  ///< stored in `constant`
  state,     ///< persists between runs and is written by nodes: a KV cache; initially zero
  computed   ///< output of a node
};

struct Value {
  ValueKind kind = ValueKind::computed;
  DType dtype = DType::float32;
  Shape shape;
  std::string name;             ///< name of an input, weight or state; may be empty for others
  std::int32_t weight = kNone;  ///< index into Graph::weights
  Tensor constant;
};

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  LayerId layer = kNone;  ///< the Keras layer that the node belongs to
};

/// A call of a Keras layer (or operation) that nodes refer to, for messages, profiles and dumps.
struct Layer {
  std::string name;        ///< "block/dense_1" inside the nested model "block"
  std::string class_name;  ///< "Dense"
  std::vector<ValueId> outputs;
  LayerId parent = kNone;  ///< the layer that called this layer, if that is part of the graph
};

struct Output {
  std::string name;  ///< the key if the model's outputs are a dict, otherwise "output_0", …
  ValueId value = kNone;
  std::string layer = {};  ///< name of the layer that a model has there, as in Keras's output_names; may be empty
};

/// The attention scores of the layer `name`: probabilities (B,N,T,S), or Keras's shape for several axes.
struct Scores {
  std::string name;
  ValueId value = kNone;
};

/// Nodes are in topological order. A graph lowered from a model with unknown dimensions (kUnknown) can be inspected; to
/// run it, all shapes must be known.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<WeightSpec> weights;
  std::vector<Layer> layers;
  std::vector<ValueId> inputs;
  std::vector<ValueId> states;
  std::vector<Output> outputs;
  std::vector<Scores> scores;

  [[nodiscard]] const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
};

/// The shape and dtype of each output.
struct TensorType {
  DType dtype = DType::float32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Infers the output types of an operation; unknown dimensions propagate. Throws Error (bad_input) with a sentence
/// about the incompatible shapes or dtypes, without a place: the caller knows the layer.
[[nodiscard]] std::vector<TensorType> infer(const Op& op, std::span<const TensorType> inputs);

/// A factor of a FLOP count: a number, or the size of an axis of a value.
struct Factor {
  UInt128 size = 1;
  ValueId of = kNone;  ///< the value whose axis is meant; kNone: a number
  int axis = 0;
  /// Not the axis's size, but the number of the axis's cells that all windows read, excluding padding.
  bool cells = false;
};

/// One term of a node's floating-point operations: the product of its factors.
struct FlopTerm {
  std::string what;  ///< the computation that is counted: "multiply and add", "bias", "softmax", …
  std::vector<Factor> factors;
  [[nodiscard]] UInt128 count() const;  ///< throws Error (no_memory) if it exceeds kMaxCount
};

/// Attention to positions hidden by causality or a window: Keras and the reference backend compute and then mask them,
/// a kernel may skip them.
enum class HiddenPairs : std::uint8_t { skipped, counted };

/// Returns the floating-point operations of one node of known shapes, term by term. An addition, multiplication,
/// division or elementary function counts 1, so a multiply-add 2. Comparing, selecting, moving and integer arithmetic
/// count 0.
[[nodiscard]] std::vector<FlopTerm> flop_terms(const Graph& graph, const Node& node,
                                               HiddenPairs hidden = HiddenPairs::skipped);
/// Returns their sum. Throws Error (no_memory) if a term exceeds kMaxCount.
[[nodiscard]] UInt128 flops(const Graph& graph, const Node& node, HiddenPairs hidden = HiddenPairs::skipped);

/// Appends to a graph and infers shapes immediately.
class Builder {
 public:
  explicit Builder(Graph& graph);

  ValueId input(std::string name, DType dtype, Shape shape);
  /// Returns a value that persists between runs. Graphs of one model share states by name.
  ValueId state(std::string name, DType dtype, Shape shape);
  ValueId constant(Tensor tensor);
  /// Returns the value of the declared weight, created on first use. A weight that the graph does not declare yet (by
  /// path and store_path) is appended to its weights. Throws Error (bad_input) if the same name has another shape.
  ValueId weight(const WeightSpec& spec);
  /// Applies `op`; the new nodes belong to `layer()`.
  std::vector<ValueId> apply_all(Op op, std::vector<ValueId> inputs);
  /// Returns the first (often only) output of `op`.
  ValueId apply(Op op, std::vector<ValueId> inputs) { return apply_all(std::move(op), std::move(inputs)).front(); }

  /// Returns a copy, because the next operation may reallocate the values.
  [[nodiscard]] Shape shape(ValueId id) const { return graph_.value(id).shape; }
  [[nodiscard]] DType dtype(ValueId id) const { return graph_.value(id).dtype; }
  [[nodiscard]] Graph& graph() noexcept { return graph_; }
  void set_layer(LayerId layer) noexcept { layer_ = layer; }
  [[nodiscard]] LayerId layer() const noexcept { return layer_; }

  // Small operations that lowerings use often. An operation that changes nothing adds no node.
  ValueId cast(ValueId x, DType dtype);
  ValueId reshape(ValueId x, Shape shape);
  ValueId transpose(ValueId x, std::vector<int> permutation);
  /// Returns x with a new axis of size 1 at `axis` (counted in the result; may be negative).
  ValueId expand_dims(ValueId x, int axis);
  ValueId unary(UnaryFn fn, ValueId x, double a = 0.0, double b = 0.0, double c = 0.0);
  ValueId binary(BinaryFn fn, ValueId x, ValueId y);
  /// Returns a rank-0 constant of x's dtype.
  ValueId scalar_like(ValueId x, double value);

 private:
  struct Declared {
    std::int32_t weight = kNone;  // index into Graph::weights
    ValueId value = kNone;
  };

  ValueId add(Value value);

  Graph& graph_;
  std::unordered_map<std::string, Declared> weights_;
  LayerId layer_ = kNone;
};

/// Checks all the invariants above (ids in range, order, inferred types). For tests and after passes; throws Error
/// (internal).
void verify(const Graph& graph);

/// Returns for each value whether it depends only on weights and constants.
[[nodiscard]] std::vector<bool> fixed_values(const Graph& graph);

/// Prints one line per node: `%7 = linear(%3, dense/kernel, dense/bias) float32 (1, 50, 512)  # dense`.
[[nodiscard]] std::string print(const Graph& graph);

}  // namespace attn::graph
