// GEMVs of a few float rows with a panel of quantized weights, by int8 dot products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "integer_panels.h"

namespace attn::backends::cpu {

/// The maximum number of rows of multiply_fixed_point. For more rows, widening the panel once is faster.
inline constexpr std::int64_t kMostFixedPointRows = 8;

/// Returns whether multiply_fixed_point supports a depth with these groups. Each group except the last must end at a
/// whole 32-bit word of a column, and zero points must be integers.
[[nodiscard]] bool has_fixed_point_gemv(IntegerForm form, std::int64_t depth, const PanelGroups& groups);

/// Returns the bytes of a decomposed row.
[[nodiscard]] std::int64_t fixed_point_bytes(IntegerForm form, std::int64_t depth, std::int64_t groups);

/// Decomposes a row into 24-bit signed integers, with a unit per group derived from its largest magnitude. Each integer
/// has three bytes, whose products with int8 and int4 weights are exact. Returns false if a number is NaN, infinite or
/// too small; then only multiply_integers is correct.
[[nodiscard]] bool to_fixed_point(IntegerForm form, const float* x, const PanelGroups& groups, std::byte* digits);

/// Computes the products of multiply_integers() for up to kMostFixedPointRows decomposed rows, which are row_digits
/// bytes apart. For each weight, the result differs by less than 2^-23 of the group's largest magnitude.
void multiply_fixed_point(IntegerForm form, bool is_signed, const std::byte* digits, std::int64_t row_digits,
                          std::int64_t rows, const std::byte* panel, const PanelGroups& groups, float* y);

}  // namespace attn::backends::cpu
