// Integers that name something, checked.
#pragma once

#include <string>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::backends::reference {

/// The row of a table of `size` that each index names; negative ones count from the back. Throws Error (bad_input),
/// naming the index and its place, where one is outside.
[[nodiscard]] std::vector<Dim> rows_named_by(const Tensor& indices, Dim size);

/// The coordinates of element i of a shape, "(1, 2)".
[[nodiscard]] std::string coordinates(std::int64_t i, const Shape& shape);

}  // namespace attn::backends::reference
