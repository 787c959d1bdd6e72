// What is refused for its Python code, and may be looked at all the same.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

/// Is the class refused because its objects carry Python code, as a Lambda does?
[[nodiscard]] bool carries_code(const ClassInfo& info);

}  // namespace attn::keras
