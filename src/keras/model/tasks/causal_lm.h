// keras_hub.models.CausalLM: a decoder, and its token embedding in reverse for logits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/autoregressive.h"
#include "model/tasks/task.h"

namespace attn::keras {

/// KerasHub's errors in single-token decode steps.
enum class DecodeFault : std::uint8_t {
  none,
  query_at_zero,  ///< GPTNeoXAttention.call applies rotary positions without start_index (keras-hub pull request 2870)
  short_factors   ///< Phi3SuScaledRotaryEmbedding uses the length of each call
};

class CausalLM : public Task, public Autoregressive {
 public:
  explicit CausalLM(DecodeFault fault = DecodeFault::none) : fault_(fault) {}
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override;

 protected:
  /// Returns the hidden states (B,T,D), and the logits of all positions or of the last.
  [[nodiscard]] Decoded answered(Lowering& lowering, graph::ValueId hidden, bool every_position);
  [[nodiscard]] std::string_view kind() const override { return "CausalLM"; }
  void assemble() override { output_struct = reverse_embedding(backbone_result()); }
  [[nodiscard]] std::string keras_hub_error() override;

 private:
  DecodeFault fault_;
};

}  // namespace attn::keras
