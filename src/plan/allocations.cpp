#include <algorithm>

#include "attn/plan/plan.h"

namespace attn::plan {

using graph::ValueId;

std::vector<Allocation> allocations(const Plan& plan) {
  const auto at = [](std::int32_t id) { return static_cast<std::size_t>(id); };
  std::vector<Allocation> out;
  std::vector<std::size_t> allocation_of(plan.slots.size());  // for each root in the arena
  const auto root = [&](ValueId id) {
    const ValueId alias = plan.slots[at(id)].alias_of;
    return alias == graph::kNone ? id : alias;
  };
  const auto read = [&](ValueId id, int step) {
    if (plan.slots[at(id)].place != Place::arena) return;
    int& last = out[allocation_of[at(root(id))]].last;
    last = std::max(last, step);
  };
  int step = 0;
  for (const graph::NodeId id : plan.steps) {
    const graph::Node& node = plan.graph.nodes[at(id)];
    for (const ValueId output : node.outputs) {
      const Slot& slot = plan.slots[at(output)];
      if (slot.place != Place::arena || slot.alias_of != graph::kNone) continue;
      allocation_of[at(output)] = out.size();
      out.push_back({output, slot.offset, slot.bytes, step, step});
    }
    for (const ValueId input : node.inputs) read(input, step);
    for (const ValueId output : node.outputs) read(output, step);
    ++step;
  }
  for (const graph::Output& output : plan.graph.outputs) read(output.value, step);
  for (const graph::Scores& scores : plan.graph.scores) read(scores.value, step);
  return out;
}

}  // namespace attn::plan
