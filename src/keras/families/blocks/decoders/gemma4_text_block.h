// The block of Gemma 4's text model.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma4_block();

}  // namespace attn::keras
