// Panels of 32 columns of a weight that is kept as integers, and products with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attn/base/tensor.h"
#include "attn/graph/op.h"
#include "panel.h"

namespace attn::backends::cpu {

/// How the integers of a panel lie: those of some rows of the depth beside each other in 32 bits of each column.
enum class IntegerForm : std::uint8_t {
  quads,   ///< four rows, a byte each, for dot products of bytes
  bytes,   ///< the same, to be widened
  nibbles  ///< eight rows, row 2i in the low half of byte i
};

/// The weight of a QuantizedLinear, (K, M), as it is stored.
struct StoredIntegers {
  const std::uint8_t* bytes;
  std::int64_t depth, width;  ///< K, M
  bool is_signed, transposed;
  graph::Pairs pairs;

  [[nodiscard]] int at(std::int64_t k, std::int64_t m) const;
};

/// Bytes of a panel.
[[nodiscard]] std::int64_t integer_panel_bytes(IntegerForm form, std::int64_t depth);
/// Rows of the depth as a panel of quads has them.
[[nodiscard]] inline std::int64_t quads_of(std::int64_t depth) { return (depth + 3) / 4; }

/// Columns from `column` on; what is beyond the weight is 0. Row i of the depth is `order`[i] of the weight, where
/// there is an order. `sums` gets Σ over each of the 32 columns.
void pack_integer_panel(IntegerForm form, const StoredIntegers& from, std::span<const std::int64_t> order,
                        std::int64_t column, std::byte* panel, std::int32_t* sums);

/// max |x|, or NaN where one is.
[[nodiscard]] float largest_of(const float* x, std::int64_t size);

/// What is added to the integers of a panel that is widened, so that none has a sign.
[[nodiscard]] int added_to(IntegerForm form, bool is_signed);

/// The integers of a row for quads: min(max(x·scale, rounded), low), high) + 128, and 128 up to a whole quad.
/// Gives the scale, high/(max |x| + ε).
float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, std::uint8_t* q);
/// The same as floats.
float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, float* q);

/// Rows of the depth that share scales and zero points: those before ends[g], of group g.
struct PanelGroups {
  const std::int64_t* ends;
  std::int64_t count;
  const float *scale, *zero;  ///< (count, kPanel); null: the integers as they are, of one group
  bool is_whole = true;       ///< Are the zero points whole numbers of at most kMostWhole?
};

/// To this size a whole zero point is taken from an integer together with what makes that one a float.
inline constexpr float kMostWhole = 0x1p20F;

/// The most rows of multiply_integers.
inline constexpr std::int64_t kFewIntegerRows = 4;

/// y[i·kPanel + j] = Σ_g scale(g, j)·Σ_k x[i·row_x + k]·(panel(k, j) − zero(g, j)), for so few rows that the panel's
/// bytes take longer than the products. Of bytes or nibbles.
void multiply_integers(IntegerForm form, bool is_signed, const float* x, std::int64_t row_x, std::int64_t rows,
                       const std::byte* panel, const PanelGroups& groups, float* y);

/// The panel as floats, (depth, kPanel).
void widen_integers(IntegerForm form, bool is_signed, const std::byte* panel, const PanelGroups& groups, float* wide);

}  // namespace attn::backends::cpu
