// Constant tables that layers compute once for all runs of a graph: angles of positions, slopes of heads, buckets of
// distances.
#pragma once

#include <string_view>

#include "attn/base/tensor.h"

namespace attn::keras {

/// Throws Error (no_memory) for a table of more than 2^27 elements, whose computation would take too long. `what` is
/// its name in messages.
void check_table(const Shape& shape, std::string_view what);

/// Allocates a table. Throws Error (no_memory) like check_table.
[[nodiscard]] Tensor table(DType dtype, const Shape& shape, std::string_view what);

}  // namespace attn::keras
