#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/graph/graph.h"

using namespace attn;
using namespace attn::graph;

namespace {

WeightSpec spec(std::string path, std::string store_path, Shape shape) {
  WeightSpec made;
  made.path = std::move(path);
  made.store_path = std::move(store_path);
  made.shape = std::move(shape);
  return made;
}

}  // namespace

TEST_CASE("builder: an operation without effect adds no node") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {kUnknown, 5, 8});
  CHECK(build.cast(x, DType::float32) == x);
  CHECK(build.reshape(x, {kUnknown, 5, 8}) == x);
  CHECK(build.transpose(x, {0, 1, 2}) == x);
  CHECK(build.unary(UnaryFn::linear, x) == x);
  CHECK(graph.nodes.empty());
  verify(graph);
}

TEST_CASE("builder: an added operation infers its type at once") {
  Graph graph;
  graph.layers.push_back({"dense", "Dense", {}});
  Builder build(graph);
  build.set_layer(0);
  const ValueId x = build.input("x", DType::float32, {kUnknown, 5, 8});
  CHECK(build.shape(build.expand_dims(x, -1)) == Shape{kUnknown, 5, 8, 1});
  CHECK(build.shape(build.expand_dims(x, 1)) == Shape{kUnknown, 1, 5, 8});
  CHECK(build.shape(build.reshape(x, {kUnknown, 40})) == Shape{kUnknown, 40});
  CHECK(build.shape(build.transpose(x, {0, 2, 1})) == Shape{kUnknown, 8, 5});
  CHECK(build.dtype(build.cast(x, DType::bfloat16)) == DType::bfloat16);
  const ValueId doubled = build.binary(BinaryFn::multiply, x, build.scalar_like(x, 2.0));
  CHECK(build.shape(doubled) == build.shape(x));
  CHECK(graph.nodes.back().layer == 0);
  CHECK_THROWS_AS(build.expand_dims(x, 5), Error);
  verify(graph);
}

TEST_CASE("builder: a weight that is declared twice is stored once") {
  Graph graph;
  Builder build(graph);
  const ValueId kernel = build.weight(spec("dense/kernel", "layers/dense/vars/0", {8, 4}));
  CHECK(build.weight(spec("dense/kernel", "layers/dense/vars/0", {8, 4})) == kernel);
  // Weights with the same path but different keys, as in two nested models, are different weights.
  const ValueId other = build.weight(spec("dense/kernel", "layers/functional/layers/dense/vars/0", {3, 3}));
  CHECK(other != kernel);
  CHECK(graph.weights.size() == 2);
  CHECK_THROWS_AS(build.weight(spec("dense/kernel", "layers/dense/vars/0", {8, 5})), Error);
  CHECK(Builder(graph).weight(spec("dense/kernel", "layers/dense/vars/0", {8, 4})) == kernel);
  verify(graph);
}

TEST_CASE("builder: weights declared beforehand keep their order") {
  Graph graph;
  graph.weights = {spec("a", "a", {1}), spec("b", "b", {2})};
  Builder build(graph);
  const ValueId b = build.weight(spec("b", "b", {2}));
  CHECK(graph.value(b).weight == 1);
  CHECK(graph.weights.size() == 2);
}
