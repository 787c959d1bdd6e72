// Plain kernels for any dtype and shape. One thread computes an element of the result; one warp computes it if a whole
// row contributes.
#pragma once

#include <string>

#include "attn/graph/op.h"
#include "kernel.h"

namespace attn::cuda {

[[nodiscard]] inline Choice too_many_axes() { return Choice("more than 16 axes that do not merge"); }

// elementwise.cu
[[nodiscard]] Choice make_plain(const graph::Unary& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Binary& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Select& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Cast& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Fill& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Iota& op, const Step& step);

// contraction.cu
[[nodiscard]] Choice make_plain(const graph::Linear& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::MatMul& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Einsum& op, const Step& step);

// softmax.cu, normalization.cu, reduction.cu
[[nodiscard]] Choice make_plain(const graph::Softmax& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::LayerNorm& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::BatchNorm& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Reduce& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Cumulate& op, const Step& step);

// layout.cu
[[nodiscard]] Choice make_plain(const graph::Reshape& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Transpose& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Broadcast& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Concat& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Slice& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Pad& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Gather& op, const Step& step);

// scatter.cu
[[nodiscard]] Choice make_plain(const graph::ScatterAdd& op, const Step& step);

// append.cu
[[nodiscard]] Choice make_plain(const graph::Append& op, const Step& step);

// convolution.cu, rnn.cu, delta_rule.cu
[[nodiscard]] Choice make_plain(const graph::Conv& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Pool& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Rnn& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::DeltaRule& op, const Step& step);

#define ATTN_DEFINE(type, name, reason) \
  [[nodiscard]] inline Choice make_plain(const graph::type&, const Step&) { return Choice(reason); }
#define ATTN_NO_INTEGERS(type, name) ATTN_DEFINE(type, name, "the GPU has no kernels for quantized weights yet")
#define ATTN_NO_TRAINING(type, name) ATTN_DEFINE(type, name, "the GPU does not train yet")
#define ATTN_ON_THE_HOST(type, name) ATTN_DEFINE(type, name, "ranks that share a model run on CPUs")
ATTN_QUANTIZED_OPS(ATTN_NO_INTEGERS)
ATTN_TRAINING_OPS(ATTN_NO_TRAINING)
ATTN_GRADIENT_OPS(ATTN_NO_TRAINING)
ATTN_COLLECTIVE_OPS(ATTN_ON_THE_HOST)
#undef ATTN_DEFINE
#undef ATTN_NO_INTEGERS
#undef ATTN_NO_TRAINING
#undef ATTN_ON_THE_HOST

}  // namespace attn::cuda
