// The layers of Moonshine (keras_hub/src/models/moonshine).
#pragma once

#include <array>

#include "classes/class_info.h"

namespace attn::keras {

extern const std::array<ClassInfo, 8> kMoonshineLayers;

}  // namespace attn::keras
