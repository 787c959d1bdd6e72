// Whole graphs, to test operations together.
#pragma once

#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::test {

/// The letters of design.md: B batch, T length, D width, N heads, H head size, F feed-forward width, L blocks.
struct EncoderSize {
  Dim B = 1, T = 50, D = 512, N = 8, H = 64, F = 2048;
  int L = 1;
  DType dtype = DType::float32;
  bool einsum = false;  ///< project by Einsum and add instead of Linear
  graph::UnaryFn activation = graph::UnaryFn::relu;
};

/// Post-norm encoder blocks, then a softmax Dense of D units, made of unfused operations as Keras layers lower: Einsum
/// projections, with activations and residual additions as separate nodes.
[[nodiscard]] graph::Graph encoder(const EncoderSize& size);

/// Inputs and weights for a graph: normal, weights scaled by 1/√(first dimension).
[[nodiscard]] std::vector<Tensor> draw_inputs(const graph::Graph& graph);
[[nodiscard]] std::vector<Tensor> draw_weights(const graph::Graph& graph);

}  // namespace attn::test
