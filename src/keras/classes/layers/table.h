// Numbers that a layer computes once for all runs of a graph: angles of positions, slopes of heads, buckets of
// distances.
#pragma once

#include <string_view>

#include "attn/base/tensor.h"

namespace attn::keras {

/// For a table of `what`. Throws Error (no_memory) for one of more than 2^27 numbers, which nobody would wait for.
[[nodiscard]] Tensor table(DType dtype, const Shape& shape, std::string_view what);

}  // namespace attn::keras
