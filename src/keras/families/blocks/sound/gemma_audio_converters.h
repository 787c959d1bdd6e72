// The audio converters of Gemma 3n and Gemma 4 (keras_hub/src/models/gemma3n, gemma4).
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma3n_audio_converter();
[[nodiscard]] LayerPtr make_gemma4_audio_converter();

}  // namespace attn::keras
