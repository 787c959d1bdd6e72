#include "async_all_reduces.h"

#include <algorithm>

namespace attn::backends::cpu {
namespace {

/// Returns the first step after `step` that reads the bytes of `value`; the number of steps if there is none.
std::size_t first_reader(const plan::Plan& plan, std::size_t step, graph::ValueId value) {
  const auto place_of = [&](graph::ValueId id) {
    const graph::ValueId other = plan.slots[graph::at(id)].alias_of;
    return other == graph::kNone ? id : other;
  };
  const auto reads = [&](graph::ValueId id) { return place_of(id) == place_of(value); };
  for (std::size_t i = step + 1; i < plan.steps.size(); ++i)
    if (std::ranges::any_of(plan.graph.nodes[graph::at(plan.steps[i])].inputs, reads)) return i;
  return plan.steps.size();
}

}  // namespace

AsyncAllReduces::AsyncAllReduces(const plan::Plan& plan, communicators::Communicator* ranks)
    : plan_(plan), ranks_(ranks) {
  if (ranks == nullptr || ranks->size() == 1) return;
  read_at_.resize(plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const graph::Node& node = plan.graph.nodes[graph::at(plan.steps[i])];
    if (!std::holds_alternative<graph::AllReduce>(node.op)) continue;
    const std::size_t reader = first_reader(plan, i, node.outputs[0]);
    if (reader > i + 1) read_at_[i] = reader;
  }
}

void AsyncAllReduces::before(std::size_t step) {
  std::erase_if(pending_, [&](const Pending& sum) {
    if (sum.read_at > step) return false;
    ranks_->finish(sum.number);
    return true;
  });
}

void AsyncAllReduces::begin(std::size_t step, const Storage& storage) {
  const graph::Node& node = plan_.graph.nodes[graph::at(plan_.steps[step])];
  const Tensor own = storage.tensor(node.inputs[0]), sum = storage.tensor(node.outputs[0]);
  if (node.layer != graph::kNone) ranks_->describe_next(plan_.graph.layers[graph::at(node.layer)].name);
  const auto how =
      std::get<graph::AllReduce>(node.op).maximum ? communicators::Reduction::max : communicators::Reduction::sum;
  pending_.push_back({*read_at_[step], ranks_->begin_all_reduce(own.data(), sum.data(), own.size(), own.dtype(), how)});
}

void AsyncAllReduces::between() {
  if (!pending_.empty()) ranks_->progress();
}

}  // namespace attn::backends::cpu
