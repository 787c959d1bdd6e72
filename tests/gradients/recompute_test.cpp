#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "../evaluate.h"
#include "attn/gradients/gradients.h"
#include "attn/gradients/passes.h"
#include "attn/plan/plan.h"

namespace attn::test {
namespace {

using namespace attn::graph;

/// Four blocks x + gelu(x·w)·v, and Σ x² at the end; the weights follow x among the inputs.
struct Blocks {
  Graph graph;
  ValueId loss = kNone;
  std::vector<ValueId> weights;

  Blocks() {
    Builder b(graph);
    constexpr Dim kRows = 40, kWidth = 6, kInner = 50;
    constexpr int kBlocks = 4;
    ValueId x = b.input("x", DType::float64, {kRows, kWidth});
    for (int block = 0; block < kBlocks; ++block) {
      const ValueId w = b.input("w", DType::float64, {kWidth, kInner});
      const ValueId v = b.input("v", DType::float64, {kInner, kWidth});
      const ValueId inner = b.apply(Linear{1, false, {UnaryFn::gelu}, false}, {x, w});
      x = b.binary(BinaryFn::add, x, b.apply(Linear{}, {inner, v}));
      weights.insert(weights.end(), {w, v});
    }
    loss = b.apply(Reduce{ReduceFn::sum, {0, 1}}, {b.unary(UnaryFn::square, x)});
  }
};

std::vector<Tensor> numbers_for(const Graph& graph) {
  std::vector<Tensor> out;
  for (const ValueId id : graph.inputs) {
    Tensor tensor(DType::float64, graph.value(id).shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, static_cast<double>((i * 37 + static_cast<std::int64_t>(out.size()) * 11) % 19 - 9) / 20.0);
    out.push_back(tensor);
  }
  return out;
}

}  // namespace

TEST_CASE("recompute: gradients keep every bit, and activations take less memory") {
  const Blocks blocks;
  gradients::Differentiated kept = gradients::differentiate(blocks.graph, blocks.loss, blocks.weights);
  for (const ValueId id : kept.gradients) kept.graph.outputs.push_back({"", id});
  const Graph again = gradients::recompute(kept.graph, kept.forward);
  CHECK_NOTHROW(verify(again));
  CHECK(again.nodes.size() > kept.graph.nodes.size());
  CHECK(plan::make_plan(again).arena_bytes < plan::make_plan(kept.graph).arena_bytes * 7 / 10);

  const std::vector<Tensor> inputs = numbers_for(blocks.graph);
  const std::vector<Tensor> before = evaluate(kept.graph, inputs, kept.gradients);
  const std::vector<Tensor> after = evaluate(again, inputs, kept.gradients);
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(std::memcmp(before[i].data(), after[i].data(), static_cast<std::size_t>(before[i].bytes())) == 0);
}

TEST_CASE("recompute: outputs of the model keep their values") {
  const Blocks blocks;
  gradients::Differentiated kept = gradients::differentiate(blocks.graph, blocks.loss, blocks.weights);
  kept.graph.outputs.push_back({"loss", blocks.loss});
  for (const ValueId id : kept.gradients) kept.graph.outputs.push_back({"", id});
  const Graph again = gradients::recompute(kept.graph, kept.forward);
  CHECK(again.outputs[0].value == blocks.loss);
  const auto makes_loss = [&](const Node& node) {
    return std::ranges::find(node.outputs, blocks.loss) != node.outputs.end();
  };
  CHECK(std::ranges::count_if(again.nodes, makes_loss) == 1);
}

}  // namespace attn::test
