// Comparison of two tensors, with a description of differences.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/base/tensor.h"

namespace attn::test {

/// Returns nothing if every element of `got` is within its tolerance of `expected`. NaN equals only NaN, and an
/// infinity only the same infinity; integers with tolerance 0 are compared by their bytes. Otherwise returns a sentence
/// with the number of different elements, the first one's coordinates and numbers, and the largest error.
[[nodiscard]] std::optional<std::string> difference(const Tensor& expected, const Tensor& got,
                                                    std::span<const double> tolerance);

}  // namespace attn::test
