// The common part of Gemma 4's blocks of texts and of images (keras_hub/src/models/gemma4).
#pragma once

#include <cstdint>

#include "families/blocks/decoders/decoder_block.h"

namespace attn::keras {

/// Attention and a gated feed-forward network, with norms before and after each of them.
class Gemma4Block : public DecoderBlock {
 protected:
  virtual Layer& make_attention() = 0;
  /// Creates a projection of the feed-forward network.
  virtual Layer& make_dense(const char* called, const char* attribute, const char* equation, std::int64_t units) = 0;
  /// Applies the feed-forward network without the norm after it.
  [[nodiscard]] virtual TensorPtr feed_forward(Call& call, const TensorPtr& x) const;

  Layer& make_norm(const char* called);
  /// Creates the sublayers in Keras's order. The feed-forward network is `inner` features wide.
  void make_parts(Call& call, std::int64_t inner);

  /// Returns the block's input, which is clamped in float16, as the sums are.
  static TensorPtr limited(Call& call);
  /// Adds the result of the attention to the input, and then that of the feed-forward network.
  [[nodiscard]] TensorPtr summed(Call& call, const TensorPtr& in, const Arg& attended) const;

  Positive hidden_dim, intermediate_dim, head_dim, num_query_heads, num_key_value_heads;
  Number layer_norm_epsilon{1e-6}, dropout{0}, rope_wavelength{10000.0};
  Layer *pre_attention_norm_ = nullptr, *attention_ = nullptr;

 private:
  Layer *post_attention_norm_ = nullptr, *attention_dropout_ = nullptr, *feedforward_dropout_ = nullptr,
        *pre_ffw_norm_ = nullptr, *post_ffw_norm_ = nullptr, *gating_ffw_ = nullptr, *gating_ffw_2_ = nullptr,
        *ffw_linear_ = nullptr;
};

}  // namespace attn::keras
