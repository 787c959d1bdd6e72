#include "plan_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "text/escape.h"

namespace attn::report {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Counts of operations fused into others.
struct Fused {
  std::map<std::string, int> activations;  // number of fused activations, by function
  int residuals = 0, packed = 0;
};

const graph::Unary* activation_of(const Node& node) {
  if (const auto* linear = std::get_if<graph::Linear>(&node.op)) return &linear->activation;
  if (const auto* conv = std::get_if<graph::Conv>(&node.op)) return &conv->activation;
  return nullptr;
}

bool has_residual(const Node& node) {
  const auto* linear = std::get_if<graph::Linear>(&node.op);
  return linear != nullptr && linear->residual;
}

bool is_packed(const Node& node) {
  const auto* attention = std::get_if<graph::Attention>(&node.op);
  return attention != nullptr && attention->packed_heads > 0;
}

Fused fused_in(const Graph& graph) {
  Fused out;
  for (const Node& node : graph.nodes) {
    const graph::Unary* activation = activation_of(node);
    if (activation != nullptr && activation->fn != graph::UnaryFn::linear)
      ++out.activations[std::string(graph::name_of(activation->fn))];
    if (has_residual(node)) ++out.residuals;
    if (is_packed(node)) ++out.packed;
  }
  return out;
}

std::map<std::string, int> operations_in(const Graph& graph) {
  std::map<std::string, int> out;
  for (const Node& node : graph.nodes) ++out[std::string(graph::name_of(node.op))];
  return out;
}

std::string operation_text(const Node& node) {
  std::string text(graph::name_of(node.op));
  if (is_packed(node)) text += " of packed q, k, v";
  const graph::Unary* activation = activation_of(node);
  if (activation != nullptr && activation->fn != graph::UnaryFn::linear)
    text += " + " + std::string(graph::name_of(activation->fn));
  if (has_residual(node)) text += " + residual";
  return text;
}

/// Adds the differences between both graphs, by kind of operation. Fused operations are reported separately.
void add_changes(const PlanReport& report, PlanSteps& out) {
  const Fused before = fused_in(report.lowered), after = fused_in(report.plan.graph);
  std::map<std::string, int> gone = operations_in(report.lowered);
  for (const auto& [operation, count] : operations_in(report.plan.graph)) gone[operation] -= count;
  for (const auto& [function, count] : after.activations) {
    const auto found = before.activations.find(function);
    const int fused = count - (found == before.activations.end() ? 0 : found->second);
    out.activations += fused;
    gone[function] -= fused;
  }
  out.residuals = after.residuals - before.residuals;
  out.packed = after.packed - before.packed;
  gone["add"] -= out.residuals;
  gone["linear"] -= 2 * out.packed;  // three become one
  out.products = std::max(0, gone["einsum"]);
  gone["einsum"] -= out.products;
  // An einsum becomes a matrix product, which is a linear or a matmul.
  for (const char* product : {"linear", "matmul"})
    if (out.products > 0 && gone[product] < 0) gone[product] = std::min(0, gone[product] + out.products);
  for (const auto& [operation, count] : gone) {
    if (count > 0) out.removed.push_back({operation, count});
    if (count < 0) out.added.push_back({operation, -count});
  }
}

void add_idle_layers(const PlanReport& report, PlanSteps& out) {
  const Graph& graph = report.plan.graph;
  std::set<graph::LayerId> busy;
  for (const Node& node : graph.nodes)
    for (graph::LayerId layer = node.layer; layer != graph::kNone; layer = graph.layers[graph::at(layer)].parent)
      busy.insert(layer);
  for (std::size_t i = 0; i < graph.layers.size(); ++i)
    if (const graph::Layer& layer = graph.layers[i]; !busy.contains(static_cast<graph::LayerId>(i)))
      out.idle.emplace_back(layer.name, layer.class_name);
}

/// Returns the used bytes of the arena at each step.
std::vector<std::int64_t> live_bytes_of(const std::vector<plan::Allocation>& allocations, std::size_t steps) {
  std::vector<std::int64_t> changes(steps + 1, 0);
  for (const plan::Allocation& allocation : allocations) {
    changes[std::min(static_cast<std::size_t>(allocation.first), steps)] += allocation.bytes;
    changes[std::min(static_cast<std::size_t>(allocation.last) + 1, steps)] -= allocation.bytes;
  }
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  return changes;
}

}  // namespace

PlanSteps steps_of(const PlanReport& report) {
  const plan::Plan& plan = report.plan;
  PlanSteps out;
  out.allocations = plan::allocations(plan);
  std::map<ValueId, std::size_t> allocation_of;
  for (std::size_t i = 0; i < out.allocations.size(); ++i) allocation_of.emplace(out.allocations[i].value, i);
  const auto allocation = [&](ValueId id) -> std::optional<std::size_t> {
    const plan::Slot& slot = plan.slots[graph::at(id)];
    const auto found = allocation_of.find(slot.alias_of == graph::kNone ? id : slot.alias_of);
    if (slot.place != plan::Place::arena || found == allocation_of.end()) return std::nullopt;
    return found->second;
  };

  const std::vector<std::int64_t> live_bytes = live_bytes_of(out.allocations, plan.steps.size());
  std::vector<int> writer(out.allocations.size());  // the last step that wrote to the memory of each allocation
  for (const graph::NodeId id : plan.steps) {
    const int number = static_cast<int>(out.steps.size());
    PlanStep step;
    step.node = &plan.graph.nodes[graph::at(id)];
    step.operation = operation_text(*step.node);
    if (step.node->layer != graph::kNone) {
      const graph::Layer& layer = plan.graph.layers[graph::at(step.node->layer)];
      step.layer = layer.name;
      step.class_name = layer.class_name;
    }
    if (const auto kernel = report.kernels.find(id); kernel != report.kernels.end()) {
      step.kernel = kernel->second.name;
      step.why = kernel->second.why;
    }
    for (const ValueId input : step.node->inputs)
      if (const auto read = allocation(input); read && std::ranges::find(step.reads, *read) == step.reads.end())
        step.reads.push_back(*read);
    for (const ValueId output : step.node->outputs) {
      PlanResult result{output, plan.slots[graph::at(output)].bytes, allocation(output).value(), std::nullopt};
      if (out.allocations[result.allocation].value != output) {
        result.in_place_of = writer[result.allocation];
        ++out.in_place;
      }
      writer[result.allocation] = number;
      out.unshared_bytes += result.bytes;
      step.results.push_back(result);
    }
    step.live_bytes = live_bytes[static_cast<std::size_t>(number)];
    if (step.live_bytes > out.peak_bytes) {
      out.peak_bytes = step.live_bytes;
      out.peak_step = number;
    }
    out.steps.push_back(std::move(step));
  }
  out.lowered = static_cast<int>(report.lowered.nodes.size());
  out.views = static_cast<int>(plan.graph.nodes.size() - plan.steps.size() - plan.prepare.size());
  add_changes(report, out);
  add_idle_layers(report, out);
  return out;
}

bool to_the_end(const plan::Allocation& allocation, const PlanSteps& plan) {
  return static_cast<std::size_t>(allocation.last) >= plan.steps.size();
}

Table steps_table(const PlanReport& report, const PlanSteps& plan) {
  Table table{{{"Step", Align::right},
               {"Layer"},
               {"Operation"},
               {"Output"},
               {"Bytes", Align::right},
               {"From", Align::right},
               {"To", Align::right},
               {"Last read", Align::right},
               {"In place of"}},
              {}};
  const bool kernels = !report.kernels.empty();
  if (kernels) table.columns.push_back({"Kernel"});
  for (std::size_t number = 0; number < plan.steps.size(); ++number) {
    const PlanStep& step = plan.steps[number];
    bool first = true;
    for (const PlanResult& result : step.results) {
      const graph::Value& value = report.plan.graph.value(result.value);
      const plan::Allocation& allocation = plan.allocations[result.allocation];
      std::vector<std::string> row = {first ? std::to_string(number) : "",
                                      first ? step.layer : "",
                                      first ? step.operation : "",
                                      fmt::format("{} {}", value.shape.str(), name_of(value.dtype)),
                                      with_commas(result.bytes),
                                      with_commas(allocation.offset),
                                      with_commas(allocation.offset + allocation.bytes),
                                      to_the_end(allocation, plan) ? "end" : std::to_string(allocation.last),
                                      result.in_place_of ? fmt::format("step {}", *result.in_place_of) : ""};
      if (kernels) row.push_back(first ? step.kernel : "");
      table.rows.push_back(std::move(row));
      first = false;
    }
  }
  return table;
}

std::vector<std::string> title_of(const PlanReport& report, const PlanSteps& plan, const plan::Allocation& allocation) {
  constexpr int kTitleCells = 400;
  const PlanStep& step = plan.steps[static_cast<std::size_t>(allocation.first)];
  const graph::Value& value = report.plan.graph.value(allocation.value);
  return {shortened(printable(step.layer), kTitleCells), step.operation,
          fmt::format("{} {}", value.shape.str(), name_of(value.dtype)),
          fmt::format("{} bytes from {}", with_commas(allocation.bytes), with_commas(allocation.offset)),
          fmt::format("steps {} to {}", allocation.first,
                      to_the_end(allocation, plan) ? "the end" : std::to_string(allocation.last))};
}

}  // namespace attn::report
