#include "attn/plan/plan.h"

#include <algorithm>
#include <numeric>

#include "arena.h"
#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/plan/passes.h"
#include "passes/uses.h"
#include "views.h"

namespace attn::plan {
namespace {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;
using graph::ValueId;
using graph::ValueKind;

std::int64_t bytes_of(const Value& value) {
  const auto bytes = checked_mul(value.shape.size(), attn::bytes_of(value.dtype));
  if (!bytes) {
    throw Error(ExitCode::no_memory,
                fmt::format("an array of {} {} is too large", attn::name_of(value.dtype), value.shape.str()));
  }
  return *bytes;
}

class Planner {
 public:
  explicit Planner(Graph graph) : uses_(graph), fixed_(fixed_values(graph)) {
    plan_.graph = std::move(graph);
    const std::size_t values = plan_.graph.values.size();
    plan_.slots.resize(values);
    root_.resize(values);
    std::iota(root_.begin(), root_.end(), 0);
    first_.resize(values, 0);
    last_.resize(values, -1);
  }

  Plan run() && {
    check_shapes();
    order();
    find_lifetimes();
    overwrite();
    plan_.prepared_bytes = allocate(Place::prepared);
    plan_.arena_bytes = allocate(Place::arena);
    resolve();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Graph& graph() const { return plan_.graph; }
  Slot& slot(ValueId id) { return plan_.slots[at(id)]; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph().nodes[at(id)]; }

  // Returns the value whose bytes `id` shares.
  [[nodiscard]] ValueId root(ValueId id) const {
    while (root_[at(id)] != id) id = root_[at(id)];
    return id;
  }

  [[nodiscard]] bool is_read(ValueId id) const { return uses_.count[at(id)] > 0; }

  // Every value in use: inputs, results of nodes, and the weights and constants that they read.
  [[nodiscard]] bool exists(ValueId id) const {
    const ValueKind kind = graph().value(id).kind;
    if (kind == ValueKind::computed) return uses_.producer[at(id)] != graph::kNone;
    return kind == ValueKind::input || kind == ValueKind::state || is_read(id);
  }

  void check_shapes() {
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      const Value& value = graph().values[i];
      if (!exists(id)) continue;
      if (!value.shape.known()) {
        throw internal_error("value {} has the shape {}, and a plan needs all of it", id, value.shape.str());
      }
      slot(id).bytes = bytes_of(value);
      slot(id).place = place_of(id);
      if (value.kind == ValueKind::input) plan_.input_bytes = sum_of_bytes({plan_.input_bytes, slot(id).bytes});
      if (value.kind == ValueKind::state) plan_.state_bytes = sum_of_bytes({plan_.state_bytes, slot(id).bytes});
      if (value.kind == ValueKind::weight) plan_.weight_bytes = sum_of_bytes({plan_.weight_bytes, slot(id).bytes});
    }
  }

  [[nodiscard]] Place place_of(ValueId id) const {
    switch (graph().value(id).kind) {
      case ValueKind::input:
        return Place::input;
      case ValueKind::weight:
        return Place::weight;
      case ValueKind::constant:
        return Place::constant;
      case ValueKind::state:
        return Place::state;
      case ValueKind::computed:
        break;
    }
    return fixed_[at(id)] ? Place::prepared : Place::arena;
  }

  // Classifies every node as a view, prepared, or a step.
  void order() {
    for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
      const Node& node = graph().nodes[i];
      const auto id = static_cast<NodeId>(i);
      if (std::holds_alternative<graph::Append>(node.op)) root_[at(node.outputs[0])] = root(node.inputs[0]);
      if (is_view(graph(), node)) {
        root_[at(node.outputs[0])] = root(node.inputs[0]);
      } else if (fixed_[at(node.outputs[0])]) {
        plan_.prepare.push_back(id);
      } else {
        plan_.steps.push_back(id);
      }
    }
  }

  // Sets first_ and last_ of roots. Time counts the prepared nodes, then the steps, so that prepared values that steps
  // read outlive the preparation.
  void find_lifetimes() {
    std::int64_t time = 0;
    for (const auto* nodes : {&plan_.prepare, &plan_.steps}) {
      for (const NodeId id : *nodes) {
        for (const ValueId output : node(id).outputs) first_[at(output)] = last_[at(output)] = time;
        for (const ValueId input : node(id).inputs) last_[at(root(input))] = time;
        ++time;
      }
    }
    for (const graph::Output& output : graph().outputs) last_[at(root(output.value))] = time;
    for (const graph::Scores& scores : graph().scores) last_[at(root(scores.value))] = time;
    // The preparation ends when the first step begins, and every run reads its results.
    const auto prepared = static_cast<std::int64_t>(plan_.prepare.size());
    for (std::size_t i = 0; i < last_.size(); ++i) {
      if (plan_.slots[i].place == Place::prepared && last_[i] >= prepared) last_[i] = time;
    }
  }

  // Lets a step overwrite an input if it is the last to read it.
  void overwrite() {
    auto time = static_cast<std::int64_t>(plan_.prepare.size());
    for (const NodeId id : plan_.steps) {
      const Node& step = node(id);
      for (std::size_t i = 0; i < step.inputs.size(); ++i) {
        if (!dies_at(step, i, time) || !can_overwrite(graph(), step, i)) continue;
        const ValueId output = step.outputs[0];
        const ValueId input = root(step.inputs[i]);
        root_[at(output)] = input;
        last_[at(input)] = last_[at(output)];
        break;
      }
      ++time;
    }
  }

  [[nodiscard]] bool dies_at(const Node& step, std::size_t i, std::int64_t time) const {
    const ValueId input = root(step.inputs[i]);
    if (plan_.slots[at(input)].place != Place::arena || last_[at(input)] != time) return false;
    // Another input of the step may be the same bytes under a broadcast shape.
    return std::all_of(step.inputs.begin(), step.inputs.end(), [&](ValueId other) {
      return root(other) != input || graph().value(other).shape == graph().value(step.inputs[i]).shape;
    });
  }

  // Assigns offsets to the values of one place that are not views, and returns their total size.
  std::int64_t allocate(Place place) {
    std::vector<ValueId> ids;
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (plan_.slots[i].place != place || root(id) != id) continue;
      ids.push_back(id);
      lifetimes.push_back({plan_.slots[i].bytes, first_[i], last_[i]});
    }
    const Placement placement = plan::place(lifetimes);
    for (std::size_t i = 0; i < ids.size(); ++i) slot(ids[i]).offset = placement.offsets[i];
    return placement.bytes;
  }

  void resolve() {
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      const ValueId shared = root(static_cast<ValueId>(i));
      if (shared == static_cast<ValueId>(i)) continue;
      plan_.slots[i] = slot(shared);
      plan_.slots[i].alias_of = shared;
    }
  }

  Uses uses_;
  std::vector<bool> fixed_;
  Plan plan_;
  std::vector<ValueId> root_;        // for each value; itself if it has bytes of its own
  std::vector<std::int64_t> first_;  // for each root, the time it is written
  std::vector<std::int64_t> last_;   // for each root, the time it is last read
};

}  // namespace

Plan make_plan(Graph graph) { return Planner(remove_dead(std::move(graph))).run(); }

}  // namespace attn::plan
