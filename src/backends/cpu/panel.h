// The words in which products with panels of 32 columns are asked for.
#pragma once

#include <cstdint>

namespace attn::backends::cpu {

/// Columns of a panel.
inline constexpr std::int64_t kPanel = 32;

/// A matrix as it is addressed: element (i, k) at data[i·row + k·column].
struct View {
  const float* data;
  std::int64_t row, column;
};

/// What becomes of the sums before they are written: max(·, 0), where NaN stays, then plus the residual, which lies as
/// y does.
struct WriteOut {
  bool relu = false;
  const float* residual = nullptr;
};

}  // namespace attn::backends::cpu
