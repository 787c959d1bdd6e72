// The blocks of T5 (keras_hub/src/models/t5).
#pragma once

#include <array>

#include "classes/class_info.h"

namespace attn::keras {

extern const std::array<ClassInfo, 3> kT5Layers;

}  // namespace attn::keras
