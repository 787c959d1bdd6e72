// Numbers in a config that may be NaN or infinite.
#pragma once

#include "config/json.h"

namespace attn::keras {

/// Returns the number, which may be NaN or infinite, unlike that of Ref::number(). Throws Error (bad_input).
[[nodiscard]] inline double any_number(const Ref& ref) {
  if (!ref.is_number()) ref.fail("expected a number, got " + ref.kind());
  return ref.json().get<double>();
}

}  // namespace attn::keras
