// Gemma 4's audio encoder (keras_hub/src/models/gemma4/gemma4_audio_encoder.py).
//
// Letters: B batch, I clips of an entry, T steps of a spectrogram, F its features, D width.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "classes/composite.h"
#include "families/blocks/sound/gemma4_audio_attention.h"
#include "families/blocks/sound/subsampling.h"

namespace attn::keras {

/// Spectrograms (B,I,T,F) with their mask (B,I,T) → rows that replace the placeholders of a text (B,I,T/4,D).
class Gemma4AudioEncoder final : public Composite, private ChunkedAttention {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override;
  /// KerasHub's encoder is a model, whose layers have rows in a summary.
  [[nodiscard]] std::vector<Layer*> layers() const override;
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

  /// Returns F.
  [[nodiscard]] std::int64_t spectrum() const { return input_feat_size; }
  /// Returns D.
  [[nodiscard]] std::int64_t features() const { return output_dim; }
  /// Returns the number of rows of a spectrogram of `steps`.
  [[nodiscard]] std::int64_t rows(std::int64_t steps) const;

 private:
  Positive input_feat_size = 128, hidden_size = 1024, num_layers = 12, conv_kernel_size = 5, reduction_factor = 1,
           output_dim = 2048;
  std::optional<Positive> output_proj_dims = Positive(1536);
  std::vector<Positive> sscp_conv_channels{128, 32};
  SizePairs sscp_kernel_sizes{{3, 3}, {3, 3}}, sscp_stride_sizes{{2, 2}, {2, 2}};
  Number residual_weight{0.5}, gradient_clipping{1e10}, norm_eps{1e-6}, sscp_norm_eps{1e-6};
  Layer *subsampling_ = nullptr, *output_proj_ = nullptr, *projection_ = nullptr, *norm_ = nullptr;
  std::vector<Layer*> blocks_;
};

[[nodiscard]] LayerPtr make_gemma4_sound_convolution();
[[nodiscard]] LayerPtr make_gemma4_subsampling();

}  // namespace attn::keras
