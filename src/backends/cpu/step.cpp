#include "step.h"

#include <fmt/format.h>

#include "attn/plan/recipe.h"

namespace attn::backends::cpu {

using graph::at;

Tensor view_of(const Operand& operand) {
  return {operand.dtype, operand.shape, std::shared_ptr<std::byte>(std::shared_ptr<void>(), *operand.place)};
}

WeightKey key_of(const StepInfo& step, std::size_t input, bool is_transposed) {
  const graph::ValueId value = step.node.inputs[input];
  return {plan::recipe(step.graph, value).value_or(fmt::format("{}{}", kOwnWeight, value)), is_transposed};
}

PackedWeight& Step::packed(std::size_t input, bool is_transposed) const {
  return engine.packed[key_of(*this, input, is_transposed)];
}

StepInfo describe(const plan::Plan& plan, graph::NodeId id, const Machine& machine) {
  const graph::Node& node = plan.graph.nodes[at(id)];
  StepInfo step{node, plan.graph, {}, {}, {}, machine};
  const auto operand = [&](graph::ValueId value_id) {
    const graph::Value& value = plan.graph.value(value_id);
    return Operand{nullptr, value.dtype, value.shape};
  };
  for (const graph::ValueId input : node.inputs) {
    step.inputs.push_back(operand(input));
    const plan::Place place = plan.slots[at(input)].place;
    step.fixed_inputs.push_back(place == plan::Place::weight || place == plan::Place::constant ||
                                place == plan::Place::prepared);
  }
  for (const graph::ValueId output : node.outputs) step.outputs.push_back(operand(output));
  return step;
}

}  // namespace attn::backends::cpu
