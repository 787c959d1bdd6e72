// keras.layers.Attention and AdditiveAttention: attention without projections.
#pragma once

#include <memory>

#include "classes/layer.h"

namespace attn::keras {

[[nodiscard]] std::unique_ptr<Layer> make_dot_attention();
[[nodiscard]] std::unique_ptr<Layer> make_additive_attention();

}  // namespace attn::keras
