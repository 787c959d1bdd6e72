// The mixture of experts of Gemma 4.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma4_router();
[[nodiscard]] LayerPtr make_gemma4_experts();

}  // namespace attn::keras
