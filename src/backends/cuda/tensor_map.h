// TMA's tensor maps.
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

/// Encodes a float16 or bfloat16 array with four axes, innermost first. Boxes have 64 elements of the first axis and
/// `box_rows` of the third, swizzled over 128 bytes. The strides (of all axes except the first) are in bytes and
/// multiples of 16. The caller provides the map, because GCC 12 does not align return values to more than 16 bytes.
void encode_boxes(CUtensorMap& map, DType dtype, const std::byte* data, const std::array<std::int64_t, 4>& sizes,
                  const std::array<std::int64_t, 3>& strides, int box_rows);

}  // namespace attn::cuda
