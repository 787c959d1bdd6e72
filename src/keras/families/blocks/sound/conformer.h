// The block of the audio encoders of Gemma 3n and Gemma 4 (Gulati et al., "Conformer: Convolution-augmented Transformer
// for Speech Recognition", 2020). The families differ in the classes, the names and the dtypes of its layers.
//
// Letters: B batch, T positions, D width.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "classes/composite.h"

namespace attn::keras {

/// A part of a block, whose results are clipped.
class ConformerPart : public Composite {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "mask"};
    return kNames;
  }
  void check(const Ref& config) override;

 protected:
  [[nodiscard]] TensorPtr clipped(Call& call, const TensorPtr& x) const;
  static TensorPtr silu(Call& call, const TensorPtr& x);

  Positive hidden_size;
  Number gradient_clipping{1e10}, norm_eps{1e-6};
};

/// A feed-forward network.
class ConformerFeedForward : public ConformerPart {
 public:
  Arg call(Call& call) override;

 protected:
  Number residual_weight{0.5};
  Layer *pre_norm_ = nullptr, *first_ = nullptr, *second_ = nullptr, *post_norm_ = nullptr;
};

/// Attention (B,T,N,H) or (B,T,D), and a projection.
class ConformerAttention : public ConformerPart {
 public:
  Arg call(Call& call) override;

 protected:
  Layer *pre_norm_ = nullptr, *attention_ = nullptr, *output_ = nullptr, *post_norm_ = nullptr;
};

/// A gated projection, a convolution of each feature with earlier positions, and a projection.
class ConformerConvolution : public ConformerPart {
 public:
  Arg call(Call& call) override;

 protected:
  Positive kernel_size = 5;
  Layer *pre_norm_ = nullptr, *start_ = nullptr, *convolution_ = nullptr, *conv_norm_ = nullptr, *end_ = nullptr;
};

/// Half a feed-forward network, attention, a convolution, and the other half.
class ConformerBlock : public ConformerPart {
 public:
  Arg call(Call& call) override;

 protected:
  Layer *start_ = nullptr, *attention_ = nullptr, *convolution_ = nullptr, *end_ = nullptr, *norm_ = nullptr;
  bool mask_is_of_padding_ = false;  ///< whether the mask is true for padding, not for sound
};

}  // namespace attn::keras
