// The sizes of a dense map by weights of integers, and the memory that it works in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "integer_panels.h"
#include "step.h"

namespace attn::backends::cpu {

/// x (rows, depth) by a weight (depth, width).
struct QuantizedSize {
  std::int64_t rows, depth, width;
  std::int64_t groups;  ///< of the depth, at most
  [[nodiscard]] std::int64_t panels() const { return (width + kPanel - 1) / kPanel; }
};
[[nodiscard]] QuantizedSize quantized_size(const StepInfo& step);

/// Do rows become integers? Only where the whole product is one of integers.
[[nodiscard]] bool is_by_dots(const graph::QuantizedLinear& op);
[[nodiscard]] IntegerForm integer_form(const graph::QuantizedLinear& op);

/// Rows of a block, which stay in the cache while panels pass.
inline constexpr std::int64_t kMostBlockRows = 96;

/// Blocks of rows whose results wait in a thread's cache until the rows are whole and become bytes.
struct LeftBlocks {
  std::int64_t rows;    ///< of a block
  std::int64_t stride;  ///< from one row to the next, so that they do not share a cache's sets

  explicit LeftBlocks(const QuantizedSize& size);
};
/// Are there such blocks for all threads?
[[nodiscard]] bool leaves_rows(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads);

/// Bytes of room for the rows of x as integers or in another order, with their scales; and for each thread's sums,
/// panel and rows to leave.
struct QuantizedRoom {
  std::int64_t row_bytes = 0, rows = 0, scales = 0, row_digits = 0, digits = 0, left = 0, thread = 0, total = 0;

  QuantizedRoom(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads);
};

}  // namespace attn::backends::cpu
