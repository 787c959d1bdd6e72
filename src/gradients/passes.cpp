#include "attn/gradients/passes.h"

#include <vector>

namespace attn::gradients {

using graph::at;
using graph::Graph;
using graph::Value;
using graph::ValueId;
using graph::ValueKind;

Graph release_weights(Graph graph) {
  std::vector<ValueId> value_of(graph.weights.size(), graph::kNone);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.kind == ValueKind::weight) value_of[at(value.weight)] = static_cast<ValueId>(i);
  }
  for (const ValueId id : value_of) {
    if (id == graph::kNone) continue;  // declared but unused
    Value& value = graph.value(id);
    value.kind = ValueKind::input;
    value.weight = graph::kNone;
    graph.inputs.push_back(id);
  }
  graph.weights.clear();
  return graph;
}

Graph in_float64(Graph graph) {
  for (Value& value : graph.values) {
    if (!is_floating(value.dtype)) continue;
    value.dtype = DType::float64;
    if (value.kind == ValueKind::constant) value.constant = value.constant.cast(DType::float64);
  }
  for (graph::WeightSpec& spec : graph.weights)
    if (is_floating(spec.dtype)) spec.dtype = DType::float64;
  const auto widen = [](DType& dtype) {
    if (is_floating(dtype)) dtype = DType::float64;
  };
  for (graph::Node& node : graph.nodes) {
    if (auto* cast = std::get_if<graph::Cast>(&node.op)) widen(cast->dtype);
    if (auto* iota = std::get_if<graph::Iota>(&node.op)) widen(iota->dtype);
    if (auto* fill = std::get_if<graph::Fill>(&node.op)) widen(fill->dtype);
  }
  return graph;
}

}  // namespace attn::gradients
