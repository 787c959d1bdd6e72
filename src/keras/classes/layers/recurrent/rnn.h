// Layers that run recurrent cells over time.
#pragma once

#include "classes/layers/recurrent/cell.h"

namespace attn::keras {

/// The layers RNN, LSTM, GRU and SimpleRNN.
class Recurrent : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] bool supports_masking() const override { return true; }
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;
  [[nodiscard]] Masks compute_mask(Call& call, const Masks& previous) override;
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

  [[nodiscard]] virtual Cell& cell() = 0;

  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false;
  bool zero_output_for_mask = false;

 protected:
  /// The fields above, which come first in the config.
  void sequence_fields(Fields& f);
};

}  // namespace attn::keras
