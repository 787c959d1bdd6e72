// Do two tensors agree, and if not, in words.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/base/tensor.h"

namespace attn::test {

/// Nothing where every element of `got` is within its tolerance of `expected`. NaN equals NaN alone and an infinity the
/// same infinity alone; where the tolerance is 0 integers are compared by their bytes. Else the sentence that says how
/// many elements differ, the first one's coordinates and numbers, and the largest error.
[[nodiscard]] std::optional<std::string> difference(const Tensor& expected, const Tensor& got,
                                                    std::span<const double> tolerance);

}  // namespace attn::test
