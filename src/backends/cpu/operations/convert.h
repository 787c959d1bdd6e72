// Conversions between half precision and float32.
#pragma once

#include <cstdint>

#include "attn/base/dtype.h"

namespace attn::backends::cpu {

/// Converts `count` float16 or bfloat16 numbers to float32.
void widen(DType half, const std::uint16_t* from, float* to, std::int64_t count);

/// Rounds to the nearest float16 or bfloat16, ties to even.
void narrow(DType half, const float* from, std::uint16_t* to, std::int64_t count);

}  // namespace attn::backends::cpu
