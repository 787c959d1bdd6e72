// Graphs with one operation, to measure it on its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// Self-attention of query (B, S, N, H) over key and value (B, S, K, H).
struct AttentionSize {
  std::int64_t batch = 1, length = 1, heads = 1, key_heads = 1, head_dim = 1;
  bool causal = false;
  DType dtype = DType::float32;
};
[[nodiscard]] graph::Graph attention_workload(const AttentionSize& size);
/// Returns the FLOPs of the two matrix products only (a multiply-add is 2), by which attention kernels are compared.
[[nodiscard]] double attention_flops(const AttentionSize& size);

/// Returns ‖got − exact‖ / ‖exact‖ over up to `rows` rows (b, t, n) spread over `got`, the output of attention_workload
/// for `inputs`. `exact` is computed in float64 from the same inputs.
[[nodiscard]] double attention_error(const AttentionSize& size, std::span<const Tensor> inputs, const Tensor& got,
                                     std::int64_t rows = 64);

/// A matrix product of (rows, depth) and (depth, width); the second is a weight, as in a dense layer.
struct ProductSize {
  std::int64_t rows = 1, depth = 1, width = 1;
};
/// Returns a graph with one product. With int8 it has float32 activations, quantized as in Keras's int8 layers, and an
/// int8 weight.
[[nodiscard]] graph::Graph product_workload(const ProductSize& size, DType dtype);

/// Returns a graph with `pieces` consecutive additions, each of two float32 arrays with n elements.
[[nodiscard]] graph::Graph addition_workload(std::int64_t n, int pieces);

/// Returns a graph with `pieces` consecutive sums, each over the rows of a float32 array (n / 1024, 1024). All of the
/// array is read, and little is written.
[[nodiscard]] graph::Graph sum_workload(std::int64_t n, int pieces);

/// Returns the inputs of a workload: normal numbers. A million are drawn and then repeated, because the largest
/// workloads have hundreds of millions.
[[nodiscard]] std::vector<Tensor> workload_inputs(const graph::Graph& graph, std::uint64_t seed);
/// Returns the weights of a workload, drawn in the same way. int8 weights are normal with a standard deviation of 32,
/// rounded and clipped to ±127.
[[nodiscard]] std::vector<Tensor> workload_weights(const graph::Graph& graph, std::uint64_t seed);

}  // namespace attn::run
