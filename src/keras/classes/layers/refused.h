// Classes that are rejected because of their Python code, but can still be inspected.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

/// Returns whether the class is rejected because its objects contain Python code, such as Lambda.
[[nodiscard]] bool carries_code(const ClassInfo& info);

}  // namespace attn::keras
