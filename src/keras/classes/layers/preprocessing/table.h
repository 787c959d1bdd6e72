// Constant tables that layers compute once for all runs of a graph: angles of positions, slopes of heads, buckets of
// distances.
#pragma once

#include <string_view>

#include "attn/base/tensor.h"

namespace attn::keras {

/// Allocates a table; `what` is its name in messages. Throws Error (no_memory) for more than 2^27 elements, whose
/// computation would take too long.
[[nodiscard]] Tensor table(DType dtype, const Shape& shape, std::string_view what);

}  // namespace attn::keras
