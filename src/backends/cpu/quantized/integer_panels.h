// Panels of 32 columns of a quantized weight, and products with such panels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attn/base/tensor.h"
#include "attn/graph/op.h"
#include "gemm/panel.h"

namespace attn::backends::cpu {

/// The layout of a panel. Each column has 32-bit words, in which several depth rows are packed.
enum class IntegerForm : std::uint8_t {
  quads,   ///< four rows, one byte each, for int8 dot products
  bytes,   ///< four rows, one byte each, to be widened to float
  nibbles  ///< eight rows, row 2i in the low half of byte i
};

/// The weight of a QuantizedLinear, (K, M), as stored.
struct StoredIntegers {
  const std::uint8_t* bytes;
  std::int64_t depth, width;  ///< K, M
  bool is_signed, transposed;
  graph::Pairs pairs;

  [[nodiscard]] int at(std::int64_t k, std::int64_t m) const;
};

/// Returns the bytes of a panel.
[[nodiscard]] std::int64_t integer_panel_bytes(IntegerForm form, std::int64_t depth);
/// Returns the number of 32-bit words that the depth needs, with four int8 rows each.
[[nodiscard]] inline std::int64_t quads_of(std::int64_t depth) { return (depth + 3) / 4; }

/// Packs 32 columns from `column` on, with zeros beyond the weight. With an `order`, depth row i of the panel is row
/// `order`[i] of the weight. `sums` receives the sum of each of the 32 columns.
void pack_integer_panel(IntegerForm form, const StoredIntegers& from, std::span<const std::int64_t> order,
                        std::int64_t column, std::byte* panel, std::int32_t* sums);

/// Returns max |x|, or NaN if there is one.
[[nodiscard]] float largest_of(const float* x, std::int64_t size);

/// Returns the offset that makes the integers of a panel unsigned.
[[nodiscard]] int added_to(IntegerForm form, bool is_signed);

/// Quantizes a row for quads: min(max(round(x·scale), low), high) + 128, padded with 128 to a whole quad. Returns
/// the scale, high/(max |x| + ε).
float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, std::uint8_t* q);
/// Quantizes a row, and stores the integers as floats: min(max(round(x·scale), low), high). Returns the scale,
/// high/(max |x| + ε).
float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, float* q);

/// Groups of depth rows, each with its scales and zero points: group g ends before ends[g].
struct PanelGroups {
  const std::int64_t* ends;
  std::int64_t count;
  const float *scale, *zero;  ///< (count, kPanel); null: one group with scale 1 and zero point 0
  bool is_whole = true;       ///< whether the zero points are integers of at most kMostWhole
};

/// Up to this magnitude, an integer zero point is merged with the offset of the integer-to-float conversion.
inline constexpr float kMostWhole = 0x1p20F;

/// The maximum number of rows of multiply_integers.
inline constexpr std::int64_t kFewIntegerRows = 4;

/// y[i·kPanel + j] = Σ_g scale(g, j)·Σ_k x[i·row_x + k]·(panel(k, j) − zero(g, j)). For so few rows that reading the
/// panel takes most of the time. Supports the forms bytes and nibbles.
void multiply_integers(IntegerForm form, bool is_signed, const float* x, std::int64_t row_x, std::int64_t rows,
                       const std::byte* panel, const PanelGroups& groups, float* y);

/// Dequantizes a panel to floats, (depth, kPanel).
void widen_integers(IntegerForm form, bool is_signed, const std::byte* panel, const PanelGroups& groups, float* wide);

}  // namespace attn::backends::cpu
