// Fast float32, float16 and bfloat16 kernels for the operations that dominate the time of models.
#pragma once

#include "attn/graph/op.h"
#include "kernel.h"

namespace attn::cuda {

// fast_elementwise.cu
[[nodiscard]] Choice make_fast(const graph::Unary& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Binary& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Cast& op, const Step& step);

// fast_normalization.cu, fast_softmax.cu, fast_reduction.cu
[[nodiscard]] Choice make_fast(const graph::LayerNorm& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Softmax& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Reduce& op, const Step& step);

// fast_layout.cu, for any dtype
[[nodiscard]] Choice make_fast(const graph::Transpose& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Broadcast& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Concat& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Slice& op, const Step& step);
[[nodiscard]] Choice make_fast(const graph::Gather& op, const Step& step);

}  // namespace attn::cuda
