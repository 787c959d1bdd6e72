#include "attn/run/workload.h"

#include <cmath>

namespace attn::run {

graph::Graph attention_workload(const AttentionSize& size) {
  graph::Graph graph;
  graph.name = "attention";
  graph::Builder build(graph);
  const Shape queries{size.batch, size.length, size.heads, size.head_dim};
  const Shape keys{size.batch, size.length, size.key_heads, size.head_dim};
  graph::Attention attention;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(size.head_dim));
  attention.causal = size.causal;
  const graph::ValueId query = build.input("query", size.dtype, queries);
  const graph::ValueId key = build.input("key", size.dtype, keys);
  const graph::ValueId value = build.input("value", size.dtype, keys);
  graph.outputs.push_back({"output_0", build.apply(attention, {query, key, value})});
  return graph;
}

double attention_flops(const AttentionSize& size) {
  const auto length = static_cast<double>(size.length);
  const double pairs = size.causal ? length * (length + 1) / 2 : length * length;
  return 4.0 * static_cast<double>(size.batch * size.heads * size.head_dim) * pairs;
}

graph::Graph product_workload(std::int64_t n, DType dtype) {
  graph::Graph graph;
  graph.name = "product";
  graph::Builder build(graph);
  const graph::ValueId x = build.input("x", dtype, {n, n});
  const graph::ValueId y = build.input("y", dtype, {n, n});
  graph.outputs.push_back({"output_0", build.apply(graph::MatMul{}, {x, y})});
  return graph;
}

}  // namespace attn::run
