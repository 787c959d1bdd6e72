// The attention and the norm of Gemma 3n.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma3n_norm();
[[nodiscard]] LayerPtr make_gemma3n_attention();

}  // namespace attn::keras
