#include <doctest/doctest.h>

#include "attn/graph/graph.h"

using namespace attn;
using namespace attn::graph;

TEST_CASE("print: one line per node, with weights by name and layers at the end") {
  Graph graph;
  graph.layers = {{"dense", "Dense", {}}, {"attention", "Attention", {}}};
  Builder build(graph);
  const ValueId x = build.input("tokens", DType::float32, {kUnknown, 5, 8});
  build.set_layer(0);
  WeightSpec kernel;
  kernel.path = "dense/kernel";
  kernel.shape = {8, 2, 4};
  Linear linear;
  linear.activation.fn = UnaryFn::relu;
  const ValueId heads = build.apply(linear, {x, build.weight(kernel)});
  build.set_layer(1);
  Attention attention;
  attention.scale = 0.5;
  attention.causal = attention.scores = true;
  const auto attended = build.apply_all(attention, {heads, heads, heads});
  build.set_layer(kNone);
  const ValueId half = build.binary(BinaryFn::multiply, attended[0], build.scalar_like(attended[0], 0.5));
  const ValueId first = build.apply(Slice{{{}, {std::nullopt, 1}, {}, {}}}, {half});
  graph.outputs.push_back({"output_0", build.reshape(first, {kUnknown, 8})});
  graph.scores.push_back({"attention", attended[1]});

  CHECK(print(graph) ==
        "%0 = input tokens float32 (None, 5, 8)\n"
        "%2 = linear(%0, dense/kernel, activation=relu) float32 (None, 5, 2, 4)  # dense\n"
        "%3, %4 = attention(%2, %2, %2, scale=0.5, causal, scores) float32 (None, 5, 2, 4), float32 (None, 2, 5, 5)"
        "  # attention\n"
        "%6 = multiply(%3, 0.5) float32 (None, 5, 2, 4)\n"
        "%7 = slice(%6, [:, :1, :, :]) float32 (None, 1, 2, 4)\n"
        "%8 = reshape(%7) float32 (None, 8)\n"
        "output_0 = %8\n"
        "scores of attention = %4\n");
}
