#include "data_flow.h"

#include <algorithm>

namespace attn::probe {

using graph::at;
using graph::NodeId;
using graph::ValueId;

bool is_addition(const graph::Node& node) {
  const auto* binary = std::get_if<graph::Binary>(&node.op);
  return binary != nullptr && binary->fn == graph::BinaryFn::add;
}

bool is_contraction(const graph::Node& node) {
  return is_any_of<graph::Linear, graph::QuantizedLinear, graph::MatMul, graph::Einsum>(node);
}

DataFlow::DataFlow(const graph::Graph& graph)
    : graph_(graph),
      producer_(graph.values.size(), graph::kNone),
      readers_(graph.values.size()),
      fixed_(graph::fixed_values(graph)) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto node = static_cast<NodeId>(i);
    for (const ValueId value : graph.nodes[i].outputs) producer_[at(value)] = node;
    for (const ValueId value : graph.nodes[i].inputs) {
      std::vector<NodeId>& readers = readers_[at(value)];
      if (readers.empty() || readers.back() != node) readers.push_back(node);
    }
  }
}

const graph::Node* DataFlow::producer(ValueId value) const {
  const NodeId node = producer_[at(value)];
  return node == graph::kNone ? nullptr : &graph_.nodes[at(node)];
}

const graph::Node* DataFlow::first_reader(ValueId value) const {
  return readers(value).empty() ? nullptr : &graph_.nodes[at(readers(value).front())];
}

ValueId DataFlow::only_varying_input(const graph::Node& node) const {
  ValueId out = graph::kNone;
  for (const ValueId id : node.inputs) {
    if (is_fixed(id)) continue;
    if (out != graph::kNone) return graph::kNone;
    out = id;
  }
  return out;
}

ValueId DataFlow::without_casts(ValueId value) const {
  const graph::Node* node = producer(value);
  return node != nullptr && is_any_of<graph::Cast>(*node) ? without_casts(node->inputs[0]) : value;
}

std::vector<bool> DataFlow::descendants(ValueId value) const {
  std::vector<bool> out(graph_.values.size(), false);
  out[at(value)] = true;
  for (const graph::Node& node : graph_.nodes) {
    if (std::ranges::any_of(node.inputs, [&](ValueId input) { return out[at(input)]; }))
      for (const ValueId result : node.outputs) out[at(result)] = true;
  }
  return out;
}

std::vector<bool> DataFlow::ancestors(ValueId value) const {
  std::vector<bool> out(graph_.values.size(), false);
  out[at(value)] = true;
  for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph_.nodes[i];
    if (std::ranges::any_of(node.outputs, [&](ValueId result) { return out[at(result)]; }))
      for (const ValueId input : node.inputs) out[at(input)] = true;
  }
  return out;
}

std::vector<ValueId> DataFlow::frontier(ValueId value) const {
  const std::vector<bool> behind = descendants(value);
  std::vector<ValueId> out;
  for (const graph::Node& node : graph_.nodes) {
    // The producer of `value` may have further results, which count as given.
    if (std::ranges::none_of(node.inputs, [&](ValueId input) { return behind[at(input)]; })) continue;
    for (const ValueId input : node.inputs) {
      const graph::Value& read = graph_.value(input);
      const bool computed = read.kind == graph::ValueKind::computed && is_floating(read.dtype);
      if (computed && !behind[at(input)] && !fixed_[at(input)]) out.push_back(input);
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace attn::probe
