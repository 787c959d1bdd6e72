#include "amx_tiles.h"

#include <bit>
#include <cmath>

#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Flushes denormals to zero; −0 and NaN are kept.
[[gnu::always_inline]] inline float flushed(float x) {
  constexpr float kLeastNormal = 0x1p-126F;
  return std::abs(x) < kLeastNormal ? std::copysign(0.0F, x) : x;
}

/// Returns a·b + c, rounded once, and flushed to zero below the smallest normal number. Just below 2⁻¹²⁶ std::fma has
/// one digit less and may round up to that number, so the exact value decides.
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
  const double exact = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
  const float rounded = std::fma(a, b, c);
  return std::abs(exact) < 0x1.ffffffp-127 ? std::copysign(0.0F, rounded) : rounded;
}

[[gnu::always_inline]] inline float widened(Bfloat16 x) {
  return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16));
}

ATTN_VECTORIZED(void, multiply_as_amx, float* sums, const Bfloat16* left, const Bfloat16* right) {
  for (std::int64_t m = 0; m < kTileRows; ++m) {
    float even[16] = {}, odd[16] = {};
    for (std::int64_t k = 0; k < kTileDepth; k += 2) {
      const float first = widened(left[m * kTileDepth + k]), second = widened(left[m * kTileDepth + k + 1]);
      const Bfloat16* const row = right + k / 2 * kTileDepth;
      for (std::int64_t n = 0; n < 16; ++n) {
        even[n] = multiply_add(first, widened(row[2 * n]), even[n]);
        odd[n] = multiply_add(second, widened(row[2 * n + 1]), odd[n]);
      }
    }
    for (std::int64_t n = 0; n < 16; ++n)
      sums[m * 16 + n] = flushed(flushed(sums[m * 16 + n]) + flushed(even[n] + odd[n]));
  }
}

ATTN_VECTORIZED(void, multiply_bytes_as_amx, std::int32_t* sums, const std::uint8_t* left, const std::int8_t* right) {
  constexpr std::int64_t kQuad = 4, kColumns = 16;
  for (std::int64_t m = 0; m < kTileRows; ++m) {
    for (std::int64_t n = 0; n < kColumns; ++n) {
      auto sum = static_cast<std::uint32_t>(sums[m * kColumns + n]);
      for (std::int64_t k = 0; k < 2 * kTileDepth; ++k)
        sum += static_cast<std::uint32_t>(left[m * 2 * kTileDepth + k] *
                                          right[k / kQuad * 2 * kTileDepth + n * kQuad + k % kQuad]);
      sums[m * kColumns + n] = static_cast<std::int32_t>(sum);
    }
  }
}

}  // namespace

void multiply_int8_tiles(std::int32_t* sums, const std::uint8_t* left, const std::int8_t* right) {
  multiply_bytes_as_amx(sums, left, right);
}

void multiply_tiles(float* sums, const Bfloat16* left, const Bfloat16* right) { multiply_as_amx(sums, left, right); }

}  // namespace attn::backends::cpu
