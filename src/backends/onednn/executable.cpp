#include "executable.h"

#include <chrono>

#include "parallel.h"

namespace attn::backends::onednn {
namespace {

using graph::NodeId;
using graph::ValueId;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

OnednnExecutable::OnednnExecutable(plan::Plan plan, std::vector<Tensor> weights, const CompileOptions& compile_options,
                                   const OnednnOptions& options)
    : options_(options),
      plan_(std::move(plan)),
      storage_(plan_, std::move(weights)),
      engine_(compile_options.threads > 0 ? compile_options.threads : default_threads(), options.work_per_thread),
      places_(plan_.graph.values.size(), nullptr) {
  const OneThread scope;
  find_places();
  for (const NodeId id : plan_.prepare) choose(step_of(id)).kernel->run();

  std::vector<std::pair<NodeId, std::vector<bool>>> packed;
  for (const NodeId id : plan_.steps) {
    const Step step = step_of(id);
    Chosen chosen = choose(step);
    choices_.push_back({id, std::string(chosen.kernel->name()), std::move(chosen.why)});
    kernels_.push_back(std::move(chosen.kernel));
    packed.emplace_back(id, step.packed);
  }
  drop_packed(packed);
}

void OnednnExecutable::find_places() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const plan::Slot& slot = plan_.slots[i];
    const auto id = static_cast<ValueId>(i);
    switch (slot.place) {
      case plan::Place::nowhere:
        break;
      case plan::Place::input:
        moving_.push_back(id);
        break;
      default:
        places_[i] = storage_.data(id);
    }
  }
}

Step OnednnExecutable::step_of(NodeId id) {
  const graph::Node& node = plan_.graph.nodes[at(id)];
  Step step{node, plan_.graph, {}, {}, {}, engine_, std::vector<bool>(node.inputs.size(), false)};
  const auto operand = [&](ValueId value_id) {
    const graph::Value& value = plan_.graph.value(value_id);
    return Operand{&places_[at(value_id)], value.dtype, value.shape};
  };
  for (const ValueId input : node.inputs) {
    step.inputs.push_back(operand(input));
    const plan::Place place = plan_.slots[at(input)].place;
    const bool is_fixed =
        place == plan::Place::weight || place == plan::Place::constant || place == plan::Place::prepared;
    step.fixed.push_back(is_fixed ? storage_.tensor(input) : Tensor());
  }
  for (const ValueId output : node.outputs) step.outputs.push_back(operand(output));
  return step;
}

/// Lets go of the weights that every step which reads them has packed.
void OnednnExecutable::drop_packed(const std::vector<std::pair<NodeId, std::vector<bool>>>& packed) {
  std::vector<bool> read(places_.size(), false);
  const auto root = [&](ValueId id) {
    const ValueId shared = plan_.slots[at(id)].alias_of;
    return shared == graph::kNone ? id : shared;
  };
  for (const auto& [id, inputs] : packed) {
    const graph::Node& node = plan_.graph.nodes[at(id)];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) read[at(root(node.inputs[i]))] = true;
    }
  }
  for (const graph::Output& output : plan_.graph.outputs) read[at(root(output.value))] = true;
  for (const graph::Scores& scores : plan_.graph.scores) read[at(root(scores.value))] = true;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (plan_.slots[i].place == plan::Place::weight && root(id) == id && !read[i]) storage_.drop_weight(id);
  }
}

void OnednnExecutable::bind(std::span<const Tensor> inputs) {
  storage_.bind(inputs);
  for (const ValueId id : moving_) places_[at(id)] = storage_.data(id);
  if (options_.poison_arena) storage_.poison_arena();
}

void OnednnExecutable::run(std::span<const Tensor> inputs) {
  bind(inputs);
  const OneThread scope;
  for (const auto& kernel : kernels_) kernel->run();
}

void OnednnExecutable::run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) {
  bind(inputs);
  const OneThread scope;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    kernels_[i]->run();
    timer(plan_.steps[i], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}

std::int64_t OnednnExecutable::memory_bytes() const {
  std::int64_t sum = storage_.bytes() + engine_.shared_bytes;
  for (const auto& kernel : kernels_) sum += kernel->bytes();
  return sum;
}

}  // namespace attn::backends::onednn
