#include <fmt/format.h>

#include <algorithm>

#include "attn/base/size.h"
#include "attn/base/text.h"
#include "attn/plan/plan.h"

namespace attn::plan {
namespace {

using graph::NodeId;
using graph::ValueId;

constexpr int kUntilEnd = -1;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

ValueId root(const Plan& plan, ValueId id) {
  const ValueId alias = plan.slots[at(id)].alias_of;
  return alias == graph::kNone ? id : alias;
}

// By value; of roots, the last step that reads their bytes.
std::vector<int> last_reads(const Plan& plan) {
  std::vector<int> last(plan.slots.size(), 0);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const graph::Node& node = plan.graph.nodes[at(plan.steps[step])];
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *ids) last[at(root(plan, id))] = static_cast<int>(step);
    }
  }
  for (const graph::Output& output : plan.graph.outputs) last[at(root(plan, output.value))] = kUntilEnd;
  for (const graph::Scores& scores : plan.graph.scores) last[at(root(plan, scores.value))] = kUntilEnd;
  return last;
}

std::string line_of(const Plan& plan, std::size_t number, NodeId id, ValueId output, const std::vector<int>& last) {
  const graph::Node& node = plan.graph.nodes[at(id)];
  const graph::Value& value = plan.graph.value(output);
  const Slot& slot = plan.slots[at(output)];
  std::string memory;
  if (slot.alias_of != graph::kNone) {
    memory = fmt::format("over %{}", slot.alias_of);
  } else {
    memory = fmt::format("{} at {}", with_commas(slot.bytes), with_commas(slot.offset));
    const int until = last[at(output)];
    if (slot.place == Place::arena) memory += until == kUntilEnd ? ", to the end" : fmt::format(", to step {}", until);
  }
  const std::string type = fmt::format("{} {}", name_of(value.dtype), value.shape.str());
  const std::string layer =
      node.layer == graph::kNone ? "" : "  # " + printable(plan.graph.layers[at(node.layer)].name);
  return fmt::format("{:>5}  %{:<5} {:<14} {:<28} {}{}\n", number, output, graph::name_of(node.op), type, memory,
                     layer);
}

std::string table_of(const Plan& plan, std::string_view title, const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return "";
  const std::vector<int> last = last_reads(plan);
  std::string text = fmt::format("{}\n", title);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId output : plan.graph.nodes[at(nodes[i])].outputs) {
      text += line_of(plan, i, nodes[i], output, last);
    }
  }
  return text;
}

std::string size_text(std::int64_t bytes) { return memory_size(static_cast<UInt128>(bytes)); }

}  // namespace

std::string describe(const Plan& plan) {
  std::string text = table_of(plan, "prepared once", plan.prepare) + table_of(plan, "steps", plan.steps);
  for (const graph::Output& output : plan.graph.outputs) {
    text += fmt::format("{} = %{}\n", printable(output.name), root(plan, output.value));
  }
  text += fmt::format("arena {}, prepared {}, weights {}, inputs {}\n", size_text(plan.arena_bytes),
                      size_text(plan.prepared_bytes), size_text(plan.weight_bytes), size_text(plan.input_bytes));
  return text;
}

}  // namespace attn::plan
