#include "memory.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "attn/plan/bytes.h"
#include "choose.h"
#include "handover.h"
#include "kernel_order.h"

namespace attn::backends::cpu {
namespace {

using graph::at;
using graph::NodeId;
using graph::ValueId;

class MemoryEstimator {
 public:
  MemoryEstimator(const plan::Plan& plan, const Machine& machine) : plan_(plan), machine_(machine), readers_(plan) {}

  std::int64_t run() {
    for (const graph::WeightSpec& spec : plan_.graph.weights) {
      hold(bytes_times({spec.shape.size(), bytes_of(spec.dtype)}));
    }
    hold(plan_.input_bytes);
    hold(plan_.state_bytes);
    const auto preparation = preparation_by_step(plan_);
    for (std::size_t i = 0; i < preparation.size(); ++i) {
      for (const NodeId id : preparation[i]) prepare(id);
      if (i < plan_.steps.size()) make(plan_.steps[i]);
    }
    hold(plan_.arena_bytes);
    hold(scratch_);
    std::array<std::int64_t, 2> most{};
    const std::vector<HandoverSpec> handed = handovers(plan_, machine_);
    for (std::size_t i = 0; i < handed.size(); ++i) most[i % 2] = std::max(most[i % 2], handed[i].bytes);
    for (const std::int64_t bytes : most) hold(bytes);
    hold(operands_);
    return plan::sum_of_bytes({most_, kProgramBytes, uses_library_ ? kLibraryBytes : 0});
  }

 private:
  void hold(std::int64_t bytes) {
    held_ = plan::sum_of_bytes({held_, bytes});
    most_ = std::max(most_, held_);
  }

  /// Accounts for a kernel of the preparation, which runs only once.
  void prepare(NodeId id) {
    const graph::Node& node = plan_.graph.nodes[at(id)];
    for (const ValueId output : node.outputs) {
      const plan::Slot& slot = plan_.slots[at(output)];
      if (slot.alias_of == graph::kNone) hold(slot.bytes);
    }
    held_ -= hold_kernel(id).held;  // the packed weights remain, because other kernels may reuse them
    for (const ValueId input : node.inputs) leave(input);
  }

  void make(NodeId id) {
    const MemoryNeeds needs = hold_kernel(id);
    const graph::Node& node = plan_.graph.nodes[at(id)];
    for (std::size_t i = 0; i < needs.copied.size(); ++i) {
      if (needs.copied[i]) leave(node.inputs[i]);
    }
  }

  /// Accounts for the memory that a kernel keeps; the memory to make it counts only towards the peak.
  MemoryNeeds hold_kernel(NodeId id) {
    const Choice choice = choose(describe(plan_, id, machine_));
    const MemoryNeeds& needs = choice.needs;
    std::int64_t kept = needs.held;
    for (const Packing& packing : needs.packs) {
      const ValueId weight = plan_.graph.nodes[at(id)].inputs[packing.input];
      if (packed_.insert({weight, packing.is_transposed, packing.layout}).second)
        kept = plan::sum_of_bytes({kept, packing.bytes});
    }
    hold(plan::sum_of_bytes({kept, needs.making}));
    held_ -= needs.making;
    scratch_ = std::max(scratch_, needs.scratch);
    operands_ = std::max(operands_, needs.operands);
    uses_library_ = uses_library_ || needs.uses_library;
    return needs;
  }

  void leave(ValueId id) {
    const plan::Slot& slot = plan_.slots[at(readers_.root(id))];
    const bool is_ours = slot.place == plan::Place::weight || slot.place == plan::Place::prepared;
    if (readers_.leaves(id) && is_ours) held_ -= slot.bytes;
  }

  const plan::Plan& plan_;
  Machine machine_;
  RemainingReaders readers_;
  std::int64_t held_ = 0, most_ = 0, scratch_ = 0, operands_ = 0;
  bool uses_library_ = false;
  std::set<std::tuple<ValueId, bool, Layout>> packed_;  // mirrors Engine::packed
};

}  // namespace

std::int64_t memory_needed(const plan::Plan& plan, const Machine& machine) {
  return MemoryEstimator(plan, machine).run();
}

}  // namespace attn::backends::cpu
