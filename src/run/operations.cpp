#include "attn/run/operations.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "attn/plan/plan.h"
#include "attn/run/session.h"

namespace attn::run {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

/// Returns a graph with this node only: values that the model computes before it become inputs; weights and constants
/// are kept.
Graph single_node_graph(const Graph& whole, const Node& node) {
  Graph out;
  out.name = graph::name_of(node.op);
  std::map<ValueId, ValueId> ids;
  const auto copied = [&](ValueId from) {
    const auto [found, is_new] = ids.emplace(from, static_cast<ValueId>(out.values.size()));
    if (!is_new) return found->second;
    Value value = whole.value(from);
    if (value.kind == graph::ValueKind::weight) {
      out.weights.push_back(whole.weights[static_cast<std::size_t>(value.weight)]);
      value.weight = static_cast<std::int32_t>(out.weights.size() - 1);
    } else if (value.kind != graph::ValueKind::constant) {
      value.kind = graph::ValueKind::input;
      value.name = "input_" + std::to_string(out.inputs.size());
      out.inputs.push_back(found->second);
    }
    out.values.push_back(std::move(value));
    return found->second;
  };
  Node copy{node.op, {}, {}, graph::kNone};
  for (const ValueId input : node.inputs) copy.inputs.push_back(copied(input));
  for (const ValueId output : node.outputs) {
    Value value = whole.value(output);
    copy.outputs.push_back(static_cast<ValueId>(out.values.size()));
    out.outputs.push_back({"output_" + std::to_string(out.outputs.size()), copy.outputs.back()});
    out.values.push_back(std::move(value));
  }
  out.nodes.push_back(std::move(copy));
  return out;
}

/// Nodes with equal signatures do the same work.
std::string signature(Graph graph) {
  for (Value& value : graph.values) {
    if (value.kind == graph::ValueKind::weight) value.name = "weight";
    if (value.kind == graph::ValueKind::constant) value.name = "constant";
  }
  return graph::print(graph);
}

}  // namespace

std::vector<Operation> operations_of(const backends::Backend& backend, Graph graph, std::span<const Tensor> inputs,
                                     const std::vector<Tensor>& weights, const backends::CompileOptions& options) {
  plan::Plan plan = plan::make_plan(backend.optimize(std::move(graph)));
  const std::vector<graph::NodeId> steps = plan.steps;
  // Makes every value that a step reads an output, so that it is available after the pass.
  Graph whole = plan.graph;
  std::set<ValueId> read;
  for (const graph::NodeId id : steps)
    for (const ValueId input : whole.nodes[static_cast<std::size_t>(id)].inputs) read.insert(input);
  const auto is_given = [&](ValueId id) {
    return whole.value(id).kind == graph::ValueKind::weight || whole.value(id).kind == graph::ValueKind::constant;
  };
  for (const ValueId id : read)
    if (!is_given(id)) whole.outputs.push_back({"", id});
  const std::unique_ptr<backends::Executable> pass = backend.compile(plan::make_plan(whole), weights, options);
  pass->run(inputs);
  const auto numbers_of = [&](ValueId id) {
    const Tensor there = pass->value(id);
    Tensor copy(there.dtype(), there.shape());
    std::copy_n(there.data(), there.bytes(), copy.data());
    return copy;
  };
  // A value that is computed from weights only is as fixed as they are.
  for (const ValueId id : read) {
    if (is_given(id) || plan.slots[static_cast<std::size_t>(id)].place != plan::Place::prepared) continue;
    whole.value(id).constant = numbers_of(id);
    whole.value(id).kind = graph::ValueKind::constant;
  }

  const std::vector<bool> fixed = fixed_values(whole);
  std::vector<Operation> out;
  std::map<std::string, std::size_t> known;
  for (const graph::NodeId id : steps) {
    const Node& node = whole.nodes[static_cast<std::size_t>(id)];
    Operation operation;
    operation.graph = single_node_graph(whole, node);
    const auto [found, is_new] = known.emplace(signature(operation.graph), out.size());
    if (!is_new) {
      ++out[found->second].count;
      continue;
    }
    operation.name = operation.graph.name;
    if (node.layer != graph::kNone) operation.layer = whole.layers[static_cast<std::size_t>(node.layer)].name;
    operation.count = 1;
    operation.flops = graph::flops(whole, node);
    operation.bytes = traffic(whole, node, fixed);
    std::set<ValueId> seen;
    for (const ValueId input : node.inputs) {
      if (!seen.insert(input).second) continue;
      const Value& value = whole.value(input);
      if (value.kind == graph::ValueKind::weight) {
        operation.weights.push_back(weights[static_cast<std::size_t>(value.weight)]);
      } else if (value.kind != graph::ValueKind::constant) {
        operation.inputs.push_back(numbers_of(input));
      }
    }
    out.push_back(std::move(operation));
  }
  return out;
}

}  // namespace attn::run
