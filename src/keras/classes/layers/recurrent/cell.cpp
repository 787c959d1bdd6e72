#include "classes/layers/recurrent/cell.h"

#include <array>

#include "attn/base/error.h"

namespace attn::keras {

std::span<const std::string_view> Cell::arguments() const {
  static constexpr std::array<std::string_view, 3> kNames = {"inputs", "states", "training"};
  return kNames;
}

void Cell::build(Weights& w, Call& call) {
  const Shape in = call.shape("inputs");
  if (in.rank() != 2 || in.back() == kUnknown) throw bad_input("expected an input (batch, width), got {}", in.str());
  declare(w, in.back());
}

Arg Cell::call(Call& call) {
  Steps steps;
  steps.x = call.builder().expand_dims(call.tensor("inputs")->id, 1);
  std::vector<graph::ValueId> initial;
  for (const TensorPtr& state : tensors_of(call.arg("states"))) initial.push_back(state->id);
  if (initial.size() != state_count()) throw bad_input("expected {} states, got {}", state_count(), initial.size());
  steps.initial = &initial;
  steps.return_state = true;
  CellResults results = run(call.lowering(), steps);
  return ArgList{Call::result(results.output), std::move(results.states)};
}

}  // namespace attn::keras
