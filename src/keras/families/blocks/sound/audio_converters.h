// KerasHub's audio converters, which make the inputs of speech models from samples.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_whisper_audio_converter();
[[nodiscard]] LayerPtr make_moonshine_audio_converter();

}  // namespace attn::keras
