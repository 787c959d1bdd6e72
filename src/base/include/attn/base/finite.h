// Whether numbers are finite.
#pragma once

#include "attn/base/tensor.h"

namespace attn {

/// Is no element NaN or infinite? Of integers and bools none is.
[[nodiscard]] bool all_finite(const Tensor& tensor);

}  // namespace attn
