// How products on tiles of bfloat16 take numbers apart.
#pragma once

#include "attn/base/dtype.h"
#include "multiplication.h"

namespace attn::backends::cpu {

/// How many bfloat16 stand for a number: for a bfloat16 one; for a float32 three (six products, `highest`), two (three
/// products, `high`) or one (`medium`).
[[nodiscard]] int tile_parts(DType dtype, MatmulPrecision precision);

}  // namespace attn::backends::cpu
