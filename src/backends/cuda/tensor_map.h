// TMA's descriptions of arrays.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"

namespace attn::cuda {

/// Whether this build has code for Hopper's own instructions.
#ifdef ATTN_SM90A
inline constexpr bool kHasSm90Code = true;
#else
inline constexpr bool kHasSm90Code = false;
#endif

/// An array of float16 or bfloat16 with four axes, innermost first, in boxes of 64 cells of the first axis and
/// `box_rows` of the third, swizzled over 128 bytes. The strides of all but the first are in bytes, multiples of 16.
/// The map is where the caller has it: GCC 12 does not align what a function returns to more than 16 bytes.
void encode_boxes(CUtensorMap& map, DType dtype, const std::byte* data, const std::array<std::int64_t, 4>& sizes,
                  const std::array<std::int64_t, 3>& strides, int box_rows);

}  // namespace attn::cuda
