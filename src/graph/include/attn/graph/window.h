// The geometry of convolution and pooling windows.
#pragma once

#include <cstdint>

#include "attn/base/shape.h"
#include "attn/graph/op.h"

namespace attn::graph {

/// The windows along one spatial axis: window i starts at input cell i·stride − before and covers every dilation-th
/// cell; cells outside the input are padding.
struct Windows {
  Dim count = 0;            ///< the size of the output axis
  std::int64_t before = 0;  ///< padding before the first cell
};

/// Returns the windows over an axis of `dim` cells (known). The window, stride and dilation must be at least 1. Throws
/// Error (bad_input) if `valid` leaves no window, as Keras does, or if a size exceeds kMaxSize.
[[nodiscard]] Windows windows_of(Dim dim, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                                 Padding padding);

}  // namespace attn::graph
