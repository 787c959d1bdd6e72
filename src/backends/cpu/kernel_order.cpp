#include "kernel_order.h"

#include <algorithm>

namespace attn::backends::cpu {
namespace {

using graph::at;
using graph::NodeId;
using graph::ValueId;

ValueId root_of(const plan::Plan& plan, ValueId id) {
  const ValueId shared = plan.slots[at(id)].alias_of;
  return shared == graph::kNone ? id : shared;
}

}  // namespace

RemainingReaders::RemainingReaders(const plan::Plan& plan) : plan_(plan), left_(plan.slots.size(), 0) {
  for (const auto* nodes : {&plan.prepare, &plan.steps}) {
    for (const NodeId id : *nodes) {
      for (const ValueId input : plan.graph.nodes[at(id)].inputs) ++left_[at(root(input))];
    }
  }
  for (const graph::Output& output : plan.graph.outputs) ++left_[at(root(output.value))];
  for (const graph::Scores& scores : plan.graph.scores) ++left_[at(root(scores.value))];
}

bool RemainingReaders::leaves(ValueId id) { return --left_[at(root(id))] == 0; }

ValueId RemainingReaders::root(ValueId id) const { return root_of(plan_, id); }

std::vector<std::vector<NodeId>> preparation_by_step(const plan::Plan& plan) {
  const std::size_t last = plan.steps.size();
  std::vector<std::size_t> needed(plan.slots.size(), last);  // the step that needs each prepared value first
  const auto need = [&](const graph::Node& reader, std::size_t step) {
    for (const ValueId input : reader.inputs) {
      std::size_t& first = needed[at(root_of(plan, input))];
      first = std::min(first, step);
    };
  };
  for (std::size_t i = 0; i < last; ++i) need(plan.graph.nodes[at(plan.steps[i])], i);

  std::vector<std::vector<NodeId>> result(last + 1);
  // In reverse order, so that readers come before the values that they read.
  for (auto it = plan.prepare.rbegin(); it != plan.prepare.rend(); ++it) {
    const graph::Node& node = plan.graph.nodes[at(*it)];
    std::size_t step = last;
    for (const ValueId output : node.outputs) step = std::min(step, needed[at(output)]);
    need(node, step);
    result[step].push_back(*it);
  }
  for (std::vector<NodeId>& nodes : result) std::reverse(nodes.begin(), nodes.end());
  return result;
}

}  // namespace attn::backends::cpu
