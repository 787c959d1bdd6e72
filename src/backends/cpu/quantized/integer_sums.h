// The epilogue of integer products: scales, bias and residual.
#pragma once

#include <cstdint>

namespace attn::backends::cpu {

/// The terms to add after the division by the scales; each may be null.
struct AddedTerms {
  const float* bias;      ///< (columns)
  const float* residual;  ///< laid out as y
};

/// y[i·stride + j] = sums[i·kPanel + j]/(scale[j]·scales_x[i]) + bias[j] + residual[i·stride + j] for a panel's first
/// `count` columns.
void write_products(const std::int32_t* sums, const float* scale, const float* scales_x, std::int64_t rows,
                    const AddedTerms& added, float* y, std::int64_t stride, std::int64_t count);

/// y = sums/(scale·scale_x) + bias + residual for one row; scale, bias and residual may be null.
void write_sums(const float* sums, const float* scale, float scale_x, const AddedTerms& added, float* y,
                std::int64_t count);

}  // namespace attn::backends::cpu
