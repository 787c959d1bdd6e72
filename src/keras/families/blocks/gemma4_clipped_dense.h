// Dense layers of Gemma 4's encoders, whose inputs and outputs may be clipped to stored limits.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma4_clipped_dense();
[[nodiscard]] LayerPtr make_gemma4_clipped_einsum();

}  // namespace attn::keras
