// Numbers of a config that may be NaN or infinite.
#pragma once

#include "config/json.h"

namespace attn::keras {

/// Returns what stands there; Ref::number() takes finite numbers only. Throws Error (bad_input).
[[nodiscard]] inline double any_number(const Ref& ref) {
  if (!ref.is_number()) ref.fail("expected a number, got " + ref.kind());
  return ref.json().get<double>();
}

}  // namespace attn::keras
