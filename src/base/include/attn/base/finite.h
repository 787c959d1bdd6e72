// Checks for finite numbers.
#pragma once

#include "attn/base/tensor.h"

namespace attn {

/// Returns whether no element is NaN or infinite. This is always true for integers and bools.
[[nodiscard]] bool all_finite(const Tensor& tensor);

}  // namespace attn
