// The attention of Gemma 4's audio encoder (keras_hub/src/models/gemma4/gemma4_audio_encoder.py).
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma4_relative_positions();
[[nodiscard]] LayerPtr make_gemma4_audio_attention();

}  // namespace attn::keras
