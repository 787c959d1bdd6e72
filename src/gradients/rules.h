// The gradient rule of each operation: from the gradients of its outputs to those of its inputs. Private to the module.
#pragma once

#include "step.h"

namespace attn::gradients {

// elementwise.cpp
void differentiate(const graph::Unary& op, Step& step);
void differentiate(const graph::Binary& op, Step& step);
void differentiate(const graph::Select& op, Step& step);
void differentiate(const graph::Cast& op, Step& step);

// contraction.cpp
void differentiate(const graph::Linear& op, Step& step);
void differentiate(const graph::MatMul& op, Step& step);
void differentiate(const graph::Einsum& op, Step& step);

// attention.cpp
void differentiate(const graph::Softmax& op, Step& step);
void differentiate(const graph::Attention& op, Step& step);

// normalization.cpp
void differentiate(const graph::LayerNorm& op, Step& step);
void differentiate(const graph::BatchNorm& op, Step& step);
void differentiate(const graph::BatchNormTraining& op, Step& step);

// reduction.cpp
void differentiate(const graph::Reduce& op, Step& step);
void differentiate(const graph::Cumulate& op, Step& step);

// layout.cpp
void differentiate(const graph::Reshape& op, Step& step);
void differentiate(const graph::Transpose& op, Step& step);
void differentiate(const graph::Broadcast& op, Step& step);
void differentiate(const graph::Concat& op, Step& step);
void differentiate(const graph::Slice& op, Step& step);
void differentiate(const graph::Pad& op, Step& step);
void differentiate(const graph::Gather& op, Step& step);
void differentiate(const graph::Scatter& op, Step& step);
void differentiate(const graph::ScatterAdd& op, Step& step);

// windows.cpp
void differentiate(const graph::Conv& op, Step& step);
void differentiate(const graph::Pool& op, Step& step);
void differentiate(const graph::Rnn& op, Step& step);

// loss.cpp
void differentiate(const graph::SoftmaxCrossEntropy& op, Step& step);
void differentiate(const graph::Dropout& op, Step& step);

// Operations without inputs.
inline void differentiate(const graph::Iota&, Step&) {}
inline void differentiate(const graph::Fill&, Step&) {}

/// Throws Error (bad_input).
[[noreturn]] void no_gradient(const Step& step);

// Operations without a gradient: those on caches and integers, and those that only occur in gradients.
inline void differentiate(const graph::Append&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::CachedAttention&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::Quantize&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::Dequantize&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::QuantizedLinear&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::UnaryGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::AttentionGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::LayerNormGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::BatchNormGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::ConvInputGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::ConvKernelGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::PoolGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::RnnGrad&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::SoftmaxCrossEntropyGrad&, Step& step) { no_gradient(step); }

// Graphs are parallelized after differentiation.
inline void differentiate(const graph::AllReduce&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::AllGather&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::ReduceScatter&, Step& step) { no_gradient(step); }
inline void differentiate(const graph::Shift&, Step& step) { no_gradient(step); }

}  // namespace attn::gradients
