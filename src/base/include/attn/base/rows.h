// Rows of an array: its parts along the first axis.
#pragma once

#include <cstdint>

#include "attn/base/tensor.h"

namespace attn {

/// Returns rows [first, first + count) of an array, as a view of it.
[[nodiscard]] Tensor rows_view(const Tensor& array, std::int64_t first, std::int64_t count);

}  // namespace attn
