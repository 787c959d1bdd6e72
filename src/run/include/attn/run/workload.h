// Graphs of one operation, to measure it alone.
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
/// What the two products alone take (a multiply-add is 2): attention kernels are compared by it.
[[nodiscard]] double attention_flops(const AttentionSize& size);

/// ‖got − exact‖ / ‖exact‖ over up to `rows` rows (b, t, n) spread over `got`, the output of attention_workload on
/// `inputs`; exact is computed in float64 from the same inputs.
[[nodiscard]] double attention_error(const AttentionSize& size, std::span<const Tensor> inputs, const Tensor& got,
                                     std::int64_t rows = 64);

/// One product of (rows, depth) and (depth, width), the second a weight, as in a model's dense layers.
struct ProductSize {
  std::int64_t rows = 1, depth = 1, width = 1;
};
/// Of int8: float32 rows, which are quantized as Keras's int8 layers do, and a weight of bytes.
[[nodiscard]] graph::Graph product_workload(const ProductSize& size, DType dtype);

/// `pieces` additions, one after the other, each of two float32 arrays of n elements.
[[nodiscard]] graph::Graph addition_workload(std::int64_t n, int pieces);

/// `pieces` sums, one after the other, each over the rows of a float32 array (n / 1024, 1024): all of it is read, and
/// next to nothing written.
[[nodiscard]] graph::Graph sum_workload(std::int64_t n, int pieces);

/// The inputs of such a graph: normal numbers, of which a million are drawn and then repeat, as the largest workloads
/// have hundreds of millions.
[[nodiscard]] std::vector<Tensor> workload_inputs(const graph::Graph& graph, std::uint64_t seed);
/// Weights of a workload, the same way; bytes are drawn from all of their range.
[[nodiscard]] std::vector<Tensor> workload_weights(const graph::Graph& graph, std::uint64_t seed);

}  // namespace attn::run
