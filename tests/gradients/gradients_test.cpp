#include "attn/gradients/gradients.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "../evaluate.h"
#include "attn/base/error.h"

namespace attn::test {
namespace {

using namespace attn::graph;
using gradients::differentiate;

ValueId total(Builder& b, ValueId x) {
  std::vector<int> axes;
  for (int axis = 0; axis < b.shape(x).rank(); ++axis) axes.push_back(axis);
  return b.apply(Reduce{ReduceFn::sum, axes}, {x});
}

Tensor numbers(Shape shape, const std::vector<double>& values) {
  Tensor out(DType::float64, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

}  // namespace

TEST_CASE("gradients: the gradient of a value with several readers is the sum over them") {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float64, {2});
  const ValueId y = b.binary(BinaryFn::multiply, x, x);  // x² + 3x
  const ValueId loss = total(b, b.binary(BinaryFn::add, y, b.binary(BinaryFn::multiply, x, b.scalar_like(x, 3.0))));
  const auto out = differentiate(graph, loss, std::vector{x});
  const Tensor dx = evaluate(out.graph, {numbers({2}, {1.0, -4.0})}, out.gradients)[0];
  CHECK(dx.at(0) == 5.0);
  CHECK(dx.at(1) == -5.0);
}

TEST_CASE("gradients: a value that does not affect the loss has no gradient and costs no node") {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float64, {2}), w = b.input("w", DType::float64, {2});
  const ValueId unused = b.input("unused", DType::float64, {2}), count = b.input("count", DType::int32, {2});
  const ValueId rounded = b.unary(UnaryFn::round, unused);
  const ValueId loss = total(b, b.binary(BinaryFn::add, b.binary(BinaryFn::multiply, x, w), rounded));
  const auto out = differentiate(graph, loss, std::vector{w, unused, count});
  CHECK(out.gradients[0] != kNone);
  CHECK(out.gradients[1] == kNone);
  CHECK(out.gradients[2] == kNone);
  const auto reads_w = [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), w) != node.inputs.end();
  };
  // The gradient of x was not requested: only the forward product reads w.
  CHECK(std::count_if(out.graph.nodes.begin(), out.graph.nodes.end(), reads_w) == 1);
}

TEST_CASE("gradients: an operation without a gradient is an error that names it and the layer") {
  Graph graph;
  Builder b(graph);
  graph.layers.push_back({"block/slope", "Slope", {}, kNone});
  b.set_layer(0);
  const ValueId x = b.input("x", DType::float64, {2});
  const ValueId slope = b.apply(UnaryGrad{{UnaryFn::tanh}}, {x, x});
  const ValueId loss = total(b, slope);
  CHECK_THROWS_WITH_AS(static_cast<void>(differentiate(graph, loss, std::vector{x})),
                       "layer 'block/slope': the operation 'unary_grad' has no gradient", Error);
}

TEST_CASE("gradients: a loss must be one number") {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float64, {2});
  CHECK_THROWS_WITH_AS(static_cast<void>(differentiate(graph, x, std::vector{x})),
                       "a loss is one floating-point number, not float64 (2,)", Error);
}

TEST_CASE("gradients: nodes belong to the layer whose gradient they are") {
  Graph graph;
  Builder b(graph);
  graph.layers.push_back({"a", "Dense", {}, kNone});
  graph.layers.push_back({"b", "Dense", {}, kNone});
  const ValueId x = b.input("x", DType::float32, {2, 3}), w = b.input("w", DType::float32, {3, 4});
  b.set_layer(1);
  const ValueId y = b.apply(Linear{1, false, {UnaryFn::gelu}, false}, {x, w});
  b.set_layer(kNone);
  const ValueId loss = total(b, y);
  const std::size_t forward = graph.nodes.size();
  const auto out = differentiate(graph, loss, std::vector{x, w});
  int of_b = 0;
  for (std::size_t i = forward; i < out.graph.nodes.size(); ++i) of_b += out.graph.nodes[i].layer == 1 ? 1 : 0;
  CHECK(of_b >= 3);
  CHECK_NOTHROW(verify(out.graph));
}

TEST_CASE("gradients: the gradient of a cumulative product is right at 0") {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float64, {3});
  const ValueId loss = total(b, b.apply(Cumulate{true, 0}, {x}));
  const auto out = differentiate(graph, loss, std::vector{x});
  // x₀ + x₀x₁ + x₀x₁x₂ at (2, 0, 3)
  const Tensor dx = evaluate(out.graph, {numbers({3}, {2.0, 0.0, 3.0})}, out.gradients)[0];
  CHECK(dx.at(0) == 1.0);
  CHECK(dx.at(1) == 8.0);
  CHECK(dx.at(2) == 0.0);
}

}  // namespace attn::test
