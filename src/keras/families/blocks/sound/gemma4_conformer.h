// The block of Gemma 4's audio encoder (keras_hub/src/models/gemma4/gemma4_audio_encoder.py).
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma4_frozen_norm();
[[nodiscard]] LayerPtr make_gemma4_conformer_attention();
[[nodiscard]] LayerPtr make_gemma4_conformer_feed_forward();
[[nodiscard]] LayerPtr make_gemma4_conformer_convolution();
[[nodiscard]] LayerPtr make_gemma4_conformer();

}  // namespace attn::keras
