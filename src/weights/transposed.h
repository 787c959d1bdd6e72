// Transposed matrices of any element size.
#pragma once

#include "attn/base/shape.h"
#include "attn/base/tensor.h"

namespace attn::weights {

/// Transposes `count` matrices (rows, columns), which are one after another. The result has this shape.
[[nodiscard]] Tensor transposed(const Tensor& array, Shape shape, Dim count, Dim rows, Dim columns);

}  // namespace attn::weights
