// The block of Gemma 4's vision encoder, and its parts (keras_hub/src/models/gemma4).
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma4_vision_attention();
[[nodiscard]] LayerPtr make_gemma4_vision_block();

}  // namespace attn::keras
