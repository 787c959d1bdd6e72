// Plain kernels: any dtype, any shape, one thread per element of the result, or one warp if a whole row contributes.
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

// append.cu
[[nodiscard]] Choice make_plain(const graph::Append& op, const Step& step);

// convolution.cu, rnn.cu
[[nodiscard]] Choice make_plain(const graph::Conv& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Pool& op, const Step& step);
[[nodiscard]] Choice make_plain(const graph::Rnn& op, const Step& step);

// 8-bit and 4-bit integers have no kernels yet.
[[nodiscard]] inline Choice no_integers() { return Choice("the GPU has no kernels for quantized weights yet"); }
[[nodiscard]] inline Choice make_plain(const graph::Quantize&, const Step&) { return no_integers(); }
[[nodiscard]] inline Choice make_plain(const graph::Dequantize&, const Step&) { return no_integers(); }
[[nodiscard]] inline Choice make_plain(const graph::QuantizedLinear&, const Step&) { return no_integers(); }

// Training operations have no kernels yet.
[[nodiscard]] inline Choice only_in_training() { return Choice("the GPU does not train yet"); }
[[nodiscard]] inline Choice make_plain(const graph::UnaryGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::AttentionGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::LayerNormGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::BatchNormTraining&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::BatchNormGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::Scatter&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::ConvInputGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::ConvKernelGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::PoolGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::RnnGrad&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::SoftmaxCrossEntropy&, const Step&) { return only_in_training(); }
[[nodiscard]] inline Choice make_plain(const graph::SoftmaxCrossEntropyGrad&, const Step&) {
  return only_in_training();
}
[[nodiscard]] inline Choice make_plain(const graph::Dropout&, const Step&) { return only_in_training(); }

[[nodiscard]] inline Choice make_plain(const graph::ScatterAdd&, const Step&) {
  return Choice("the GPU has no kernel for scattered numbers yet");
}

// Collectives run on the host.
[[nodiscard]] inline Choice only_on_the_host() { return Choice("ranks that share a model run on CPUs"); }
[[nodiscard]] inline Choice make_plain(const graph::AllReduce&, const Step&) { return only_on_the_host(); }
[[nodiscard]] inline Choice make_plain(const graph::AllGather&, const Step&) { return only_on_the_host(); }
[[nodiscard]] inline Choice make_plain(const graph::ReduceScatter&, const Step&) { return only_on_the_host(); }
[[nodiscard]] inline Choice make_plain(const graph::Shift&, const Step&) { return only_on_the_host(); }

}  // namespace attn::cuda
