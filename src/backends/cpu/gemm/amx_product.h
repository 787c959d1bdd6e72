// The decomposition of numbers for products on bfloat16 tiles.
#pragma once

#include "attn/base/dtype.h"
#include "multiplication.h"

namespace attn::backends::cpu {

/// Returns the number of bfloat16 parts per number: one for bfloat16; for float32 three (six products, `highest`), two
/// (three products, `high`) or one (`medium`).
[[nodiscard]] int tile_parts(DType dtype, MatmulPrecision precision);

}  // namespace attn::backends::cpu
