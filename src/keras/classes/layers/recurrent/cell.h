// Recurrent cells.
//
// Letters: B batch, T steps, D input width, U units.
#pragma once

#include <optional>
#include <vector>

#include "classes/call.h"

namespace attn::keras {

/// The input of a cell: x (B,T,D), its mask (B,T), and initial states, which are taken from the front of `initial`
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

/// The outputs (B,T,U) or the last one (B,U), and the states (B,U) in Keras's structure.
struct CellResults {
  graph::ValueId output = graph::kNone;
  ArgList states;
};

/// The weights and the step of a recurrent layer.
class Cell : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights& w, Call& call) override;
  /// One step: (inputs, states) → [output, [states…]].
  Arg call(Call& call) override;

  /// Declares the variables for inputs with `width` features.
  virtual void declare(Weights& w, Dim width) = 0;
  [[nodiscard]] virtual Dim output_size() const = 0;
  /// The size of each state.
  [[nodiscard]] virtual std::vector<Dim> state_sizes() const = 0;
  [[nodiscard]] std::size_t state_count() const { return state_sizes().size(); }
  [[nodiscard]] virtual CellResults run(Lowering& lowering, const Steps& steps) = 0;
};

}  // namespace attn::keras
