// Graphs of one operation, to measure it alone.
#pragma once

#include <cstdint>

#include "attn/graph/graph.h"

namespace attn::run {

/// Self-attention of query (B, S, N, H) over key and value (B, S, K, H).
struct AttentionSize {
  std::int64_t batch = 1, length = 1, heads = 1, key_heads = 1, head_dim = 1;
  bool causal = false;
  DType dtype = DType::float32;
};
[[nodiscard]] graph::Graph attention_workload(const AttentionSize& size);
/// Of the two products alone (a multiply-add is 2), as attention kernels are compared by.
[[nodiscard]] double attention_flops(const AttentionSize& size);

/// One product of (n, n) matrices.
[[nodiscard]] graph::Graph product_workload(std::int64_t n, DType dtype);

}  // namespace attn::run
