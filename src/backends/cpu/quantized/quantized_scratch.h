// The sizes and the scratch memory of a dense map with a quantized weight.
#pragma once

#include <algorithm>
#include <cstdint>

#include "integer_panels.h"
#include "step.h"

namespace attn::backends::cpu {

/// The sizes of x (rows, depth) by a weight (depth, width).
struct QuantizedSize {
  std::int64_t rows, depth, width;
  std::int64_t groups;  ///< upper bound of the number of depth groups
  [[nodiscard]] std::int64_t panels() const { return (width + kPanel - 1) / kPanel; }
};
[[nodiscard]] QuantizedSize quantized_size(const StepInfo& step);

/// Returns whether rows are quantized: only if the whole product is computed in integers.
[[nodiscard]] bool is_by_dots(const graph::QuantizedLinear& op);
[[nodiscard]] IntegerForm integer_form(const graph::QuantizedLinear& op);

/// Maximum rows per block, which stay in the cache while the panels are read.
inline constexpr std::int64_t kMostBlockRows = 96;

/// Blocks of rows whose results stay in a thread's cache until whole rows are complete and can be quantized.
struct CachedBlocks {
  std::int64_t rows;    ///< rows per block
  std::int64_t stride;  ///< row stride, chosen to avoid cache set conflicts

  explicit CachedBlocks(const QuantizedSize& size);
};
/// Returns whether there are such blocks for all threads.
[[nodiscard]] bool leaves_rows(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads);

/// Offsets and bytes of scratch memory. It holds the rows of x as integers or in another order, with their scales. For
/// each thread it also holds sums, a panel, and rows for the next step.
struct QuantizedScratch {
  std::int64_t row_bytes = 0, rows = 0, scales = 0, row_digits = 0, digits = 0, left = 0, thread = 0, total = 0;

  QuantizedScratch(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads);
};

}  // namespace attn::backends::cpu
