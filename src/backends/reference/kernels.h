// One function per operation, with inputs and outputs as in graph/op.h. The outputs have the types that graph::infer
// gives for the inputs.
#pragma once

#include <span>

#include "attn/base/tensor.h"
#include "attn/communicators/communicator.h"
#include "attn/graph/op.h"

namespace attn::backends::reference {

using Tensors = std::span<const Tensor>;

// elementwise.cpp
void compute(const graph::Unary& op, Tensors in, Tensors out);
void compute(const graph::Binary& op, Tensors in, Tensors out);
void compute(const graph::Select& op, Tensors in, Tensors out);
void compute(const graph::Cast& op, Tensors in, Tensors out);
void compute(const graph::Fill& op, Tensors in, Tensors out);
void compute(const graph::Iota& op, Tensors in, Tensors out);

// contraction.cpp
void compute(const graph::Linear& op, Tensors in, Tensors out);
void compute(const graph::MatMul& op, Tensors in, Tensors out);
void compute(const graph::Einsum& op, Tensors in, Tensors out);

// quantized.cpp
void compute(const graph::Quantize& op, Tensors in, Tensors out);
void compute(const graph::Dequantize& op, Tensors in, Tensors out);
void compute(const graph::QuantizedLinear& op, Tensors in, Tensors out);

// softmax.cpp, attention.cpp, cache.cpp, normalization.cpp
void compute(const graph::Softmax& op, Tensors in, Tensors out);
void compute(const graph::Attention& op, Tensors in, Tensors out);
void compute(const graph::Append& op, Tensors in, Tensors out);
void compute(const graph::CachedAttention& op, Tensors in, Tensors out);
void compute(const graph::LayerNorm& op, Tensors in, Tensors out);
void compute(const graph::BatchNorm& op, Tensors in, Tensors out);

// reduction.cpp
void compute(const graph::Reduce& op, Tensors in, Tensors out);
void compute(const graph::Cumulate& op, Tensors in, Tensors out);

// layout.cpp
void compute(const graph::Reshape& op, Tensors in, Tensors out);
void compute(const graph::Transpose& op, Tensors in, Tensors out);
void compute(const graph::Broadcast& op, Tensors in, Tensors out);
void compute(const graph::Concat& op, Tensors in, Tensors out);
void compute(const graph::Slice& op, Tensors in, Tensors out);
void compute(const graph::Pad& op, Tensors in, Tensors out);
void compute(const graph::Gather& op, Tensors in, Tensors out);

// convolution.cpp, rnn.cpp
void compute(const graph::Conv& op, Tensors in, Tensors out);
void compute(const graph::Pool& op, Tensors in, Tensors out);
void compute(const graph::Rnn& op, Tensors in, Tensors out);

// derivative.cpp, attention_grad.cpp, normalization_grad.cpp, batch_norm.cpp
void compute(const graph::UnaryGrad& op, Tensors in, Tensors out);
void compute(const graph::AttentionGrad& op, Tensors in, Tensors out);
void compute(const graph::LayerNormGrad& op, Tensors in, Tensors out);
void compute(const graph::BatchNormTraining& op, Tensors in, Tensors out);
void compute(const graph::BatchNormGrad& op, Tensors in, Tensors out);

// scatter.cpp, convolution_grad.cpp, rnn_grad.cpp
void compute(const graph::Scatter& op, Tensors in, Tensors out);
void compute(const graph::ScatterAdd& op, Tensors in, Tensors out);
void compute(const graph::ConvInputGrad& op, Tensors in, Tensors out);
void compute(const graph::ConvKernelGrad& op, Tensors in, Tensors out);
void compute(const graph::PoolGrad& op, Tensors in, Tensors out);
void compute(const graph::RnnGrad& op, Tensors in, Tensors out);

// cross_entropy.cpp, dropout.cpp
void compute(const graph::SoftmaxCrossEntropy& op, Tensors in, Tensors out);
void compute(const graph::SoftmaxCrossEntropyGrad& op, Tensors in, Tensors out);
void compute(const graph::Dropout& op, Tensors in, Tensors out);

// collective.cpp
using communicators::Communicator;
void compute(const graph::AllReduce& op, Tensors in, Tensors out, Communicator& ranks);
void compute(const graph::AllGather& op, Tensors in, Tensors out, Communicator& ranks);
void compute(const graph::ReduceScatter& op, Tensors in, Tensors out, Communicator& ranks);
void compute(const graph::Shift& op, Tensors in, Tensors out, Communicator& ranks);

}  // namespace attn::backends::reference
