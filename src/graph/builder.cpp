#include <numeric>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/graph/graph.h"

namespace attn::graph {
namespace {

// Returns a unique key of the weight. Keras's paths repeat across nested models; paths in the store do not.
std::string key_of(const WeightSpec& spec) { return spec.path + '\n' + spec.store_path; }

}  // namespace

Builder::Builder(Graph& graph) : graph_(graph) {
  std::vector<ValueId> value_of(graph.weights.size(), kNone);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.kind == ValueKind::weight) value_of[static_cast<std::size_t>(value.weight)] = static_cast<ValueId>(i);
  }
  for (std::size_t i = 0; i < graph.weights.size(); ++i) {
    weights_.emplace(key_of(graph.weights[i]), Declared{static_cast<std::int32_t>(i), value_of[i]});
  }
}

ValueId Builder::add(Value value) {
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Builder::input(std::string name, DType dtype, Shape shape) {
  const ValueId id = add({ValueKind::input, dtype, std::move(shape), std::move(name), kNone, {}});
  graph_.inputs.push_back(id);
  return id;
}

ValueId Builder::state(std::string name, DType dtype, Shape shape) {
  const ValueId id = add({ValueKind::state, dtype, std::move(shape), std::move(name), kNone, {}});
  graph_.states.push_back(id);
  return id;
}

ValueId Builder::constant(Tensor tensor) {
  const DType dtype = tensor.dtype();
  Shape shape = tensor.shape();
  return add({ValueKind::constant, dtype, std::move(shape), "", kNone, std::move(tensor)});
}

ValueId Builder::weight(const WeightSpec& spec) {
  const auto [found, is_new] = weights_.try_emplace(key_of(spec));
  Declared& declared = found->second;
  if (is_new) {
    declared.weight = static_cast<std::int32_t>(graph_.weights.size());
    graph_.weights.push_back(spec);
  }
  const WeightSpec& first = graph_.weights[static_cast<std::size_t>(declared.weight)];
  if (first.shape != spec.shape || first.dtype != spec.dtype) {
    throw bad_input("two weights are called '{}': {} {} and {} {}", printable(spec.path), name_of(first.dtype),
                    first.shape.str(), name_of(spec.dtype), spec.shape.str());
  }
  if (declared.value == kNone) {
    declared.value = add({ValueKind::weight, spec.dtype, spec.shape, spec.path, declared.weight, {}});
  }
  return declared.value;
}

std::vector<ValueId> Builder::apply_all(Op op, std::vector<ValueId> inputs) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const ValueId id : inputs) types.push_back({dtype(id), shape(id)});
  std::vector<ValueId> outputs;
  for (TensorType& type : infer(op, types)) {
    outputs.push_back(add({ValueKind::computed, type.dtype, std::move(type.shape), "", kNone, {}}));
  }
  graph_.nodes.push_back({std::move(op), std::move(inputs), outputs, layer_});
  return outputs;
}

ValueId Builder::cast(ValueId x, DType dtype) { return this->dtype(x) == dtype ? x : apply(Cast{dtype}, {x}); }

ValueId Builder::reshape(ValueId x, Shape shape) {
  const Reshape op{std::move(shape)};
  const TensorType type{dtype(x), this->shape(x)};
  return infer(op, {&type, 1}).front() == type ? x : apply(op, {x});
}

ValueId Builder::transpose(ValueId x, std::vector<int> permutation) {
  std::vector<int> identity(static_cast<std::size_t>(shape(x).rank()));
  std::iota(identity.begin(), identity.end(), 0);
  return permutation == identity ? x : apply(Transpose{std::move(permutation)}, {x});
}

ValueId Builder::expand_dims(ValueId x, int axis) {
  const Shape& old = shape(x);
  const auto at = normalize_axis(axis, old.rank() + 1);
  if (!at) throw bad_input("a new axis {} does not fit the shape {}", axis, old.str());
  Shape expanded = old.slice(0, *at);
  expanded.push_back(1);
  expanded.append(old.slice(*at, old.rank()));
  return apply(Reshape{std::move(expanded)}, {x});
}

ValueId Builder::unary(UnaryFn fn, ValueId x, double a, double b, double c) {
  return fn == UnaryFn::linear ? x : apply(Unary{fn, a, b, c}, {x});
}

ValueId Builder::binary(BinaryFn fn, ValueId x, ValueId y) { return apply(Binary{fn}, {x, y}); }

ValueId Builder::scalar_like(ValueId x, double value) {
  Tensor scalar(dtype(x), Shape{});
  scalar.set(0, value);
  return constant(std::move(scalar));
}

}  // namespace attn::graph
