// The block of Gemma 3n.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "families/blocks/decoders/decoder_block.h"
#include "families/blocks/decoders/gemma3n_parts.h"

namespace attn::keras {

/// Attention and a gated feed-forward network on one of S streams, with an input of its own that is added to the other
/// ones. The streams are (B,T,S,D), which KerasHub has in front. A call returns the streams, and the keys and values
/// that later blocks may share.
class Gemma3nTextDecoderBlock final : public DecoderBlock {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

 private:
  TensorPtr feed_forward(Call& call, const TensorPtr& x);
  /// Returns what a block adds to the streams after the first: a projection of its own input, gated by the active
  /// stream.
  Expression gated(Call& call, const Expression& active);

  Positive hidden_size, num_attention_heads, num_key_value_heads, head_dim, intermediate_size, altup_num_inputs,
      laurel_rank, hidden_size_per_layer_input;
  Number rms_norm_eps, attention_dropout, rope_max_wavelength, activation_sparsity;
  std::optional<Number> rope_scaling_factor, altup_coef_clip;
  std::optional<Positive> sliding_window;
  std::string hidden_activation;
  std::int64_t altup_active_idx = 0;
  bool attention_bias = false, altup_correct_scale = true, is_kv_shared_layer = false;
  Layer *attention_ = nullptr, *mlp_ = nullptr, *input_norm_ = nullptr, *attention_norm_ = nullptr,
        *feed_forward_norm_ = nullptr, *last_norm_ = nullptr, *laurel_ = nullptr, *gate_ = nullptr,
        *projection_ = nullptr, *own_norm_ = nullptr;
  Gemma3nTextAltUp* altup_ = nullptr;
};

}  // namespace attn::keras
