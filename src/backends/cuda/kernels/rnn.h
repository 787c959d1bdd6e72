// The scratch memory of a recurrent layer.
#pragma once

#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/graph/op.h"

namespace attn::cuda {

/// Returns the scratch bytes for x (B, T, D) and a recurrent kernel (U, g·U).
[[nodiscard]] std::int64_t rnn_scratch_bytes(const graph::Rnn& op, const Shape& x, const Shape& recurrent, DType dtype);

}  // namespace attn::cuda
