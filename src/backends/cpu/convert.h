// Between half precision and float32.
#pragma once

#include <cstdint>

#include "attn/base/dtype.h"

namespace attn::backends::cpu {

/// float32 numbers of `count` float16 or bfloat16 ones.
void widen(DType half, const std::uint16_t* from, float* to, std::int64_t count);

/// The nearest float16 or bfloat16 numbers, ties to even.
void narrow(DType half, const float* from, std::uint16_t* to, std::int64_t count);

}  // namespace attn::backends::cpu
