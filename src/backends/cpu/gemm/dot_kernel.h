// A 32 × 32 micro-kernel for bfloat16 by AVX-512's dot products of pairs, on the blocks that tiles read.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include "amx_kernel.h"
#include "operations/each.h"

namespace attn::backends::cpu {

/// Has the interface of the tile registers. Requires isa() to be at least avx512_bf16.
struct DotProducts {
  static constexpr int kMostParts = 1;
};

namespace dots {

#define ATTN_DOTS [[gnu::target("avx512f,avx512bf16")]]

/// Multiplies kRows rows. VDPBF16PS flushes denormals, as tiles do, and adds the odd product of each pair before the
/// even one.
template <int kRows>
ATTN_DOTS void multiply_rows(const Bfloat16* x, const Bfloat16* w, std::int64_t steps, Prefetch& ahead, float* y,
                             std::int64_t stride, const float* start) {
  __m512 sums[kRows][2];
  ATTN_EACH(r, kRows) {
    ATTN_EACH(v, 2) {
      const std::int64_t at = r * stride + v * kTileRows;
      sums[r][v] = start != nullptr ? _mm512_loadu_ps(start + at) : _mm512_setzero_ps();
    }
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    ahead.fetch(4);
#pragma GCC unroll 4
    for (std::int64_t pair = 0; pair < kTileDepth / 2; ++pair) {
      // The numbers 2·pair and 2·pair + 1 of 16 columns.
      const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(w + pair * 32));
      const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(w + kTileNumbers + pair * 32));
      ATTN_EACH(r, kRows) {
        std::int32_t numbers;
        std::memcpy(&numbers, x + r * kTileDepth + 2 * pair, sizeof numbers);
        const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(numbers));
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], factor, left);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], factor, right);
      }
    }
    x += kTilePart;
    w += kTilePart;
  }
  ATTN_EACH(r, kRows) {
    _mm512_storeu_ps(y + r * stride, sums[r][0]);
    _mm512_storeu_ps(y + r * stride + kTileBlock / 2, sums[r][1]);
  }
}

using MultiplyRows = void (*)(const Bfloat16*, const Bfloat16*, std::int64_t, Prefetch&, float*, std::int64_t,
                              const float*);
inline constexpr std::array<MultiplyRows, 12> kMultiplyRows{
    multiply_rows<1>, multiply_rows<2>, multiply_rows<3>, multiply_rows<4>,  multiply_rows<5>,  multiply_rows<6>,
    multiply_rows<7>, multiply_rows<8>, multiply_rows<9>, multiply_rows<10>, multiply_rows<11>, multiply_rows<12>};

#undef ATTN_DOTS

}  // namespace dots

/// Computes y(i, j) = Σ x(i, k)·w(k, j) for the first `rows` rows of a block by dot products, with one part. Rows are
/// in groups of similar height, whose accumulators stay in registers.
template <int kParts, bool kOnce = false>
void multiply_tile_block(DotProducts&, const Bfloat16* x, const Bfloat16* w, std::int64_t steps, std::int64_t rows,
                         Prefetch& ahead, float* y, std::int64_t stride = kTileBlock, const float* start = nullptr) {
  static_assert(kParts == 1);
  constexpr auto kMost = static_cast<std::int64_t>(dots::kMultiplyRows.size());
  const std::int64_t groups = (rows + kMost - 1) / kMost;
  Prefetch nothing{nullptr, 0};
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t first = rows * group / groups, count = rows * (group + 1) / groups - first;
    dots::kMultiplyRows[static_cast<std::size_t>(count - 1)](x + first * kTileDepth, w, steps,
                                                             group == 0 ? ahead : nothing, y + first * stride, stride,
                                                             start != nullptr ? start + first * stride : nullptr);
  }
}

}  // namespace attn::backends::cpu

#endif
