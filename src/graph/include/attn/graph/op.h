// The closed set of operations. Every backend, the shape rules, the FLOP counts and the printer cover all of them; the
// compiler reports a missing case.
#pragma once

#include <string_view>
#include <variant>

#include "attn/graph/collective_ops.h"
#include "attn/graph/plain_ops.h"
#include "attn/graph/training_ops.h"

namespace attn::graph {

using Op = std::variant<Unary, Binary, Select, Cast, Linear, Quantize, Dequantize, QuantizedLinear, MatMul, Einsum,
                        Softmax, Attention, Append, CachedAttention, LayerNorm, BatchNorm, Reduce, Cumulate, Reshape,
                        Transpose, Broadcast, Concat, Slice, Pad, Gather, Iota, Fill, Conv, Pool, Rnn, UnaryGrad,
                        AttentionGrad, LayerNormGrad, BatchNormTraining, BatchNormGrad, Scatter, ScatterAdd,
                        ConvInputGrad, ConvKernelGrad, PoolGrad, RnnGrad, SoftmaxCrossEntropy, SoftmaxCrossEntropyGrad,
                        Dropout, AllReduce, AllGather, ReduceScatter, Shift>;

/// Returns whether the operation communicates between ranks.
[[nodiscard]] inline bool is_collective(const Op& op) noexcept {
  return std::holds_alternative<AllReduce>(op) || std::holds_alternative<AllGather>(op) ||
         std::holds_alternative<ReduceScatter>(op) || std::holds_alternative<Shift>(op);
}

/// Returns the operation's name in messages and profiles: "linear", "layer_norm", "add", "gelu", …
[[nodiscard]] std::string_view name_of(const Op& op) noexcept;
[[nodiscard]] std::string_view name_of(UnaryFn fn) noexcept;
[[nodiscard]] std::string_view name_of(BinaryFn fn) noexcept;
[[nodiscard]] std::string_view name_of(ReduceFn fn) noexcept;

/// An overload set for std::visit with one lambda per operation.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace attn::graph
