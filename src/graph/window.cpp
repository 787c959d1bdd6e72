#include "attn/graph/window.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn::graph {

Windows windows_of(Dim dim, std::int64_t window, std::int64_t stride, std::int64_t dilation, Padding padding) {
  const auto span = checked_mul(dilation, window - 1);  // from the first cell of a window to its last
  if (!span) throw bad_input("a window of {} cells with dilation {} is too large", window, dilation);
  if (padding == Padding::valid) {
    if (*span >= dim) throw bad_input("a window over {} cells does not fit into {}", *span + 1, dim);
    return {(dim - *span - 1) / stride + 1, 0};
  }
  const Dim count = dim == 0 ? 0 : (dim - 1) / stride + 1;
  if (padding == Padding::causal) return {count, *span};
  // TensorFlow's "same": the last window's overhang is the padding, with the odd cell at the end.
  const std::int64_t missing = count == 0 ? 0 : std::max<std::int64_t>((count - 1) * stride + *span + 1 - dim, 0);
  return {count, missing / 2};
}

}  // namespace attn::graph
