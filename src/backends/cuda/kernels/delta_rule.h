#pragma once

#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"

namespace attn::cuda {

/// Returns the bytes of scratch memory of a DeltaRule with this state.
[[nodiscard]] std::int64_t delta_rule_scratch_bytes(const Shape& state, DType dtype);

}  // namespace attn::cuda
