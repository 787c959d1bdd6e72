// Common definitions of products with panels of 32 columns.
#pragma once

#include <cstdint>

namespace attn::backends::cpu {

/// Columns per panel.
inline constexpr std::int64_t kPanel = 32;

/// A strided matrix: element (i, k) is data[i·row + k·column].
struct View {
  const float* data;
  std::int64_t row, column;
};

/// The epilogue: max(·, 0), which keeps NaN; then the addition of the residual, which is laid out as y.
struct Epilogue {
  bool relu = false;
  const float* residual = nullptr;
};

}  // namespace attn::backends::cpu
