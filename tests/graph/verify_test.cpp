#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/graph/graph.h"

using namespace attn;
using namespace attn::graph;

namespace {

Graph relu_of_sum() {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 3});
  const ValueId sum = build.binary(BinaryFn::add, x, x);
  const ValueId y = build.unary(UnaryFn::relu, sum);
  graph.outputs.push_back({"output_0", y});
  return graph;
}

std::string complaint_about(const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::internal);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("verify: a graph from the builder is valid") { CHECK(complaint_about(relu_of_sum()).empty()); }

TEST_CASE("verify: a node before its input is reported") {
  Graph graph = relu_of_sum();
  std::swap(graph.nodes[0], graph.nodes[1]);
  CHECK(complaint_about(graph) == "an input of node 0 (relu) is value 1, which nothing computes");
}

TEST_CASE("verify: a wrong output type is reported") {
  Graph graph = relu_of_sum();
  graph.value(1).shape = {2, 4};
  CHECK(complaint_about(graph) == "output 0 of node 0 (add) is float32 (2, 4) instead of float32 (2, 3)");
}

TEST_CASE("verify: operands that do not fit are reported with their node") {
  Graph graph = relu_of_sum();
  graph.nodes[1].op = Transpose{{0}};
  CHECK(complaint_about(graph) == "node 1 (transpose): (0) is no permutation of the axes of (2, 3)");
}

TEST_CASE("verify: duplicate values and ids out of range are reported") {
  Graph twice = relu_of_sum();
  twice.nodes.push_back(twice.nodes.back());
  CHECK(complaint_about(twice) == "value 2 is made again by node 2 (relu)");
  Graph outside = relu_of_sum();
  outside.outputs[0].value = 7;
  CHECK(complaint_about(outside) == "an output is value 7");
  Graph orphan = relu_of_sum();
  orphan.layers.push_back({"dense", "Dense", {2}});
  orphan.outputs[0].value = 1;
  orphan.nodes.pop_back();
  CHECK(complaint_about(orphan) == "the output of a layer is value 2, which nothing computes");
}
