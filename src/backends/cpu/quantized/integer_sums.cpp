#include "integer_sums.h"

#include <cstring>

#include "gemm/panel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// For whole panels. Two vectors per row are in separate variables, because the elements of an array would go through
/// memory.
template <bool kHasResidual>
[[gnu::always_inline]] inline void write_panels(const std::int32_t* sums, const float* scale, const float* scales_x,
                                                std::int64_t rows, const AddedTerms& added, float* y,
                                                std::int64_t stride) {
  static_assert(kPanel == 2 * std::int64_t{kLanes});
  Lanes scale_a, scale_b, bias_a{}, bias_b{};
  load(scale, scale_a);
  load(scale + kLanes, scale_b);
  if (added.bias != nullptr) {
    load(added.bias, bias_a);
    load(added.bias + kLanes, bias_b);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    Integers a, b;
    std::memcpy(&a, sums + i * kPanel, sizeof a);
    std::memcpy(&b, sums + i * kPanel + kLanes, sizeof b);
    Lanes y_a = __builtin_convertvector(a, Lanes) / (scale_a * scales_x[i]) + bias_a;
    Lanes y_b = __builtin_convertvector(b, Lanes) / (scale_b * scales_x[i]) + bias_b;
    if constexpr (kHasResidual) {
      Lanes more_a, more_b;
      load(added.residual + i * stride, more_a);
      load(added.residual + i * stride + kLanes, more_b);
      y_a += more_a;
      y_b += more_b;
    }
    store(y_a, y_b, y + i * stride);
  }
}

ATTN_VECTORIZED(void, write_products_of, const std::int32_t* sums, const float* scale, const float* scales_x,
                std::int64_t rows, const AddedTerms& added, float* y, std::int64_t stride, std::int64_t count) {
  if (count == kPanel) {
    if (added.residual != nullptr) return write_panels<true>(sums, scale, scales_x, rows, added, y, stride);
    return write_panels<false>(sums, scale, scales_x, rows, added, y, stride);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      float number = static_cast<float>(sums[i * kPanel + j]) / (scale[j] * scales_x[i]);
      if (added.bias != nullptr) number += added.bias[j];
      if (added.residual != nullptr) number += added.residual[i * stride + j];
      y[i * stride + j] = number;
    }
  }
}

ATTN_VECTORIZED(void, write_sums_of, const float* sums, const float* scale, float scale_x, const AddedTerms& added,
                float* y, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) {
    const float divisor = scale != nullptr ? scale[j] * scale_x : scale_x;
    const float quotient = divisor == 1.0F ? sums[j] : sums[j] / divisor;
    const float sum = added.bias != nullptr ? quotient + added.bias[j] : quotient;
    y[j] = added.residual != nullptr ? sum + added.residual[j] : sum;
  }
}

}  // namespace

void write_products(const std::int32_t* sums, const float* scale, const float* scales_x, std::int64_t rows,
                    const AddedTerms& added, float* y, std::int64_t stride, std::int64_t count) {
  write_products_of(sums, scale, scales_x, rows, added, y, stride, count);
}

void write_sums(const float* sums, const float* scale, float scale_x, const AddedTerms& added, float* y,
                std::int64_t count) {
  write_sums_of(sums, scale, scale_x, added, y, count);
}

}  // namespace attn::backends::cpu
