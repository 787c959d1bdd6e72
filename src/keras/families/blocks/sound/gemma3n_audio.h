// Gemma 3n's audio encoder (keras_hub/src/models/gemma3n/gemma3n_audio_encoder.py).
//
// Letters: B sounds, T steps of a spectrogram, F its features, D width.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "classes/composite.h"
#include "families/blocks/sound/subsampling.h"

namespace attn::keras {

/// Spectrograms (B,T,F) with masks (B,T), true for padding → rows (B,R,D), which are zero for padding.
class Gemma3nAudioEncoder final : public Composite {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights&, Call&) override;
  Arg call(Call& call) override;

  /// Returns F.
  [[nodiscard]] std::int64_t spectrum() const { return input_feat_size; }
  /// Returns D.
  [[nodiscard]] std::int64_t features() const { return hidden_size; }

 private:
  Positive hidden_size, input_feat_size, num_hidden_layers, num_attention_heads, attention_chunk_size, conv_kernel_size,
      reduction_factor;
  std::int64_t num_attention_context_right = 0, num_attention_context_left = 0;
  std::vector<Positive> sscp_conv_channel_size;
  SizePairs sscp_conv_kernel_size, sscp_conv_stride_size;
  Number sscp_conv_group_norm_eps, rms_norm_eps, gradient_clipping, residual_weight, attention_logit_cap;
  Layer* subsampling_ = nullptr;
  std::vector<Layer*> blocks_;
};

[[nodiscard]] LayerPtr make_gemma3n_group_norm();
[[nodiscard]] LayerPtr make_gemma3n_sound_convolution();
[[nodiscard]] LayerPtr make_gemma3n_subsampling();

}  // namespace attn::keras
