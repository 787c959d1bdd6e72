// Checked indices.
#pragma once

#include <string>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::backends::reference {

/// Returns the row of a table of `size` for each index; negative ones count from the end. Throws Error (bad_input),
/// naming the index and its position, if one is out of range.
[[nodiscard]] std::vector<Dim> rows_named_by(const Tensor& indices, Dim size);

/// Returns the coordinates of element i of a shape, "(1, 2)".
[[nodiscard]] std::string coordinates(std::int64_t i, const Shape& shape);

}  // namespace attn::backends::reference
