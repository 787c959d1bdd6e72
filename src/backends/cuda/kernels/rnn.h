// What a recurrent layer needs beside its operands.
#pragma once

#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/graph/op.h"

namespace attn::cuda {

/// The scratch that x (B, T, D) and a recurrent kernel (U, g·U) need.
[[nodiscard]] std::int64_t rnn_scratch_bytes(const graph::Rnn& op, const Shape& x, const Shape& recurrent, DType dtype);

}  // namespace attn::cuda
