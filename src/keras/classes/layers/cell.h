// Recurrent cells.
//
// Letters: B batch, T steps, D input width, U units.
#pragma once

#include <optional>
#include <vector>

#include "classes/call.h"

namespace attn::keras {

/// What a cell runs over: x (B,T,D), with its mask (B,T) and initial states, which come from the front of `initial`
/// (null: zeros).
struct Steps {
  graph::ValueId x = graph::kNone;
  std::optional<graph::ValueId> mask;
  const std::vector<graph::ValueId>* initial = nullptr;
  bool go_backwards = false;
  bool return_sequences = false;
  bool return_state = false;
  bool zero_output_for_mask = false;
};

/// outputs (B,T,U), or the last one (B,U), and the states (B,U) in the structure in which Keras gives them.
struct CellResults {
  graph::ValueId output = graph::kNone;
  ArgList states;
};

/// The weights of a recurrent layer and its step.
class Cell : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights& w, Call& call) override;
  /// One step: (inputs, states) → [output, [states…]].
  Arg call(Call& call) override;

  /// Declares the variables for inputs of `width` numbers a step.
  virtual void declare(Weights& w, Dim width) = 0;
  [[nodiscard]] virtual Dim output_size() const = 0;
  /// The length of each state.
  [[nodiscard]] virtual std::vector<Dim> state_sizes() const = 0;
  [[nodiscard]] std::size_t state_count() const { return state_sizes().size(); }
  [[nodiscard]] virtual CellResults run(Lowering& lowering, const Steps& steps) = 0;
};

}  // namespace attn::keras
