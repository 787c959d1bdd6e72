#include "attn/run/score_range.h"

#include <cmath>

#include "attn/run/session.h"

namespace attn::run {

using graph::BinaryFn;
using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

namespace {

/// Returns x (B, T, N, H) as (B, N, T, H) in float32. If x has fewer heads than `heads`, each is repeated.
ValueId by_head(Builder& b, ValueId x, Dim heads) {
  x = b.cast(x, DType::float32);
  const Shape s = b.shape(x);
  if (s[2] != heads) {
    const Dim group = heads / s[2];
    x = b.apply(graph::Broadcast{{s[0], s[1], s[2], group, s[3]}}, {b.expand_dims(x, 3)});
    x = b.reshape(x, {s[0], s[1], heads, s[3]});
  }
  return b.transpose(x, {0, 2, 1, 3});
}

/// Returns the products (B, N, T, S), with 0 for pairs that masks, causality or the window hide.
ValueId seen(Builder& b, const graph::Node& node, const graph::Attention& op, ValueId products) {
  const Shape shape = b.shape(products);
  const ValueId none = b.scalar_like(products, 0.0);
  const std::size_t first = op.bias ? 4 : 3;
  for (int i = 0; i < op.masks; ++i)
    products = b.apply(graph::Select{}, {node.inputs[first + static_cast<std::size_t>(i)], products, none});
  if (!op.causal && !op.window) return products;
  const Shape square{shape[2], shape[3]};
  const ValueId target = b.apply(graph::Iota{square, DType::int32, 0}, {});
  const ValueId source = b.apply(graph::Iota{square, DType::int32, 1}, {});
  const ValueId distance = b.binary(BinaryFn::subtract, target, source);
  if (op.causal) {
    const ValueId before = b.binary(BinaryFn::greater_equal, distance, b.scalar_like(distance, 0.0));
    products = b.apply(graph::Select{}, {before, products, none});
  }
  if (op.window) {
    const ValueId far = b.unary(graph::UnaryFn::absolute, distance);
    const ValueId near = b.binary(BinaryFn::less, far, b.scalar_like(far, static_cast<double>(*op.window)));
    products = b.apply(graph::Select{}, {near, products, none});
  }
  return products;
}

/// Returns the largest score that Keras rounds to float16. Keras's fused computation scales the scores after that, in
/// float32; the explicit computation scales the query before.
ValueId largest_score(Builder& b, const graph::Node& node, const graph::Attention& op) {
  ValueId query = node.inputs[0];
  const Dim heads = b.shape(query)[2];
  if (op.path == graph::AttentionPath::explicit_)
    query = b.binary(BinaryFn::multiply, query, b.scalar_like(query, op.scale));
  ValueId products = b.apply(graph::MatMul{false, true}, {by_head(b, query, heads), by_head(b, node.inputs[1], heads)});
  products = seen(b, node, op, products);
  return b.apply(graph::Reduce{ReduceFn::max, {0, 1, 2, 3}}, {products});
}

}  // namespace

std::vector<LargeScore> large_scores(const backends::Backend& backend, const graph::Graph& graph,
                                     std::vector<Tensor> weights, std::span<const Tensor> inputs,
                                     const backends::CompileOptions& options) {
  constexpr double kLeastInfinite = 65520.0;  // the mean of the largest float16 number and the number that would follow
  graph::Graph measured = graph;
  measured.outputs.clear();
  measured.scores.clear();
  Builder b(measured);
  std::vector<std::string> layers;
  for (const graph::Node& node : graph.nodes) {
    const auto* const op = std::get_if<graph::Attention>(&node.op);
    if (op == nullptr || op->packed_heads > 0 || graph.value(node.inputs[0]).dtype != DType::float16) continue;
    layers.push_back(node.layer == graph::kNone ? "" : graph.layers[graph::at(node.layer)].name);
    measured.outputs.push_back({"", largest_score(b, node, *op)});
  }
  if (layers.empty()) return {};
  Session session(backend, std::move(measured), std::move(weights), options);
  session.run(inputs);
  std::vector<LargeScore> out;
  const std::vector<NamedTensor> largest = session.outputs();
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (const double value = largest[i].tensor.at(0); value >= kLeastInfinite) out.push_back({layers[i], value});
  return out;
}

}  // namespace attn::run
