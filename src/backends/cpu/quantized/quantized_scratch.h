// The sizes and the scratch memory of a dense map with a quantized weight.
#pragma once

#include <algorithm>
#include <cstdint>

#include "integer_panels.h"
#include "step.h"

namespace attn::backends::cpu {

/// x (rows, depth) by a weight (depth, width).
struct QuantizedSize {
  std::int64_t rows, depth, width;
  std::int64_t groups;  ///< groups of the depth, at most
  [[nodiscard]] std::int64_t panels() const { return (width + kPanel - 1) / kPanel; }
};
[[nodiscard]] QuantizedSize quantized_size(const StepInfo& step);

/// Whether rows are quantized: only if the whole product is one of integers.
[[nodiscard]] bool is_by_dots(const graph::QuantizedLinear& op);
[[nodiscard]] IntegerForm integer_form(const graph::QuantizedLinear& op);

/// Rows per block, which stay in the cache while panels pass.
inline constexpr std::int64_t kMostBlockRows = 96;

/// Blocks of rows whose results stay in a thread's cache until the rows are complete and are quantized.
struct LeftBlocks {
  std::int64_t rows;    ///< rows per block
  std::int64_t stride;  ///< row stride, chosen to avoid cache set conflicts

  explicit LeftBlocks(const QuantizedSize& size);
};
/// Whether there are such blocks for all threads.
[[nodiscard]] bool leaves_rows(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads);

/// Bytes of scratch memory for the rows of x as integers or in another order, with their scales, and for each thread's
/// sums, panel and rows to leave.
struct QuantizedScratch {
  std::int64_t row_bytes = 0, rows = 0, scales = 0, row_digits = 0, digits = 0, left = 0, thread = 0, total = 0;

  QuantizedScratch(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads);
};

}  // namespace attn::backends::cpu
