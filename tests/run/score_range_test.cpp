// Attention scores beyond float16's range.
#include "attn/run/score_range.h"

#include <doctest/doctest.h>

#include <vector>

#include "attn/backends/cpu.h"

namespace attn::test {
namespace {

/// An attention over two positions of four features: `query` for each, and 300 at key 0, `last` at key 1.
std::vector<run::LargeScore> scores_of(graph::Attention op, double query, double last, DType dtype = DType::float16) {
  const Shape shape{1, 2, 1, 4};
  graph::Graph graph;
  graph.layers.push_back({"block/mha", "MultiHeadAttention", {}, graph::kNone});
  graph::Builder b(graph);
  b.set_layer(0);
  const std::vector<graph::ValueId> inputs{b.input("q", dtype, shape), b.input("k", dtype, shape),
                                           b.input("v", dtype, shape)};
  graph.outputs.push_back({"y", b.apply(op, inputs)});
  std::vector<Tensor> tensors;
  for (const std::vector<double>& rows : {std::vector{query, query}, {300.0, last}, {1.0, 1.0}}) {
    tensors.emplace_back(dtype, shape);
    for (std::int64_t i = 0; i < shape.size(); ++i) tensors.back().set(i, rows[static_cast<std::size_t>(i / 4)]);
  }
  return run::large_scores(*backends::make_cpu_backend(), graph, {}, tensors, {});
}

graph::Attention attention(double scale, graph::AttentionPath path = graph::AttentionPath::fused) {
  graph::Attention op;
  op.scale = scale;
  op.path = path;
  return op;
}

}  // namespace

TEST_CASE("score range: a product beyond float16's range is reported with its layer, before or after the scale") {
  const std::vector<run::LargeScore> fused = scores_of(attention(0.5), 300.0, 300.0);
  REQUIRE(fused.size() == 1);
  CHECK(fused[0].layer == "block/mha");
  CHECK(fused[0].value == doctest::Approx(360000.0));
  CHECK(scores_of(attention(0.5), 50.0, 300.0).empty());  // 60,000
  CHECK(scores_of(attention(0.5, graph::AttentionPath::explicit_), 100.0, 300.0).empty());
  CHECK(scores_of(attention(0.5, graph::AttentionPath::explicit_), 120.0, 300.0).size() == 1);
}

TEST_CASE("score range: scores that are hidden, negative or in a wider dtype are ignored") {
  graph::Attention op;
  CHECK(scores_of(op, -300.0, 300.0).empty());
  CHECK(scores_of(op, 300.0, 300.0, DType::float32).empty());
  CHECK(scores_of(op, 300.0, 300.0, DType::bfloat16).empty());
  op.causal = true;
  CHECK(scores_of(op, 50.0, 400.0).size() == 1);  // the last position sees key 1
  op.window = 1;
  CHECK(scores_of(op, 60.0, 250.0).size() == 1);  // 72,000 at key 0
  CHECK(scores_of(op, 50.0, 300.0).empty());
}

}  // namespace attn::test
