#include "bfloat16.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace attn::onnx {
namespace {

const std::int64_t kFloat = type_code(DType::float32), kBfloat16 = type_code(DType::bfloat16);

/// The operators of the graph; a cast includes its target type.
std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes)
    out.push_back(node.op == "Cast" ? "Cast " + std::to_string(std::get<std::int64_t>(node.attributes[0].value))
                                    : node.op);
  return out;
}

Graph widened(Graph graph, int opset) {
  widen_bfloat16(graph, opset, [](const std::string& name) { return name; });
  return graph;
}

const std::string kWide = "Cast " + std::to_string(kFloat), kNarrow = "Cast " + std::to_string(kBfloat16);
using Words = std::vector<std::string>;

TEST_CASE("onnx: an operator without bfloat16 support computes between two casts") {
  Graph graph;
  graph.inputs = {{"x", DType::bfloat16, {}, true}};
  graph.initializers = {{"kernel", Tensor(DType::bfloat16, {2, 2})}};
  graph.nodes = {{"Conv", "conv", {"x", "kernel", ""}, {"conv"}, {}},
                 {"Add", "add", {"conv", "kernel"}, {"add"}, {}},
                 {"Cos", "y", {"add"}, {"y"}, {}}};
  graph.outputs = {{"y", DType::bfloat16, {}, true}};
  CHECK(operators_of(widened(graph, 22)) == Words{"Conv", "Add", "Cos"});
  const Graph old = widened(graph, 21);
  CHECK(operators_of(old) == Words{kWide, kWide, "Conv", kNarrow, "Add", kWide, "Cos", kNarrow});
  CHECK(old.nodes[2].inputs == Words{"x/float32", "kernel/float32", ""});
  CHECK(old.nodes[3].outputs == Words{"conv"});
  CHECK(old.nodes.back().outputs == Words{"y"});
}

TEST_CASE("onnx: types other than bfloat16, and the indices of TopK, stay unchanged") {
  Graph graph;
  graph.inputs = {{"x", DType::bfloat16, {}, true}, {"z", DType::float32, {}, true}};
  graph.initializers = {{"k", Tensor(DType::int64, {1})}};
  graph.nodes = {{"TopK", "top", {"x", "k"}, {"values", "indices"}, {}},
                 {"Softplus", "soft", {"z"}, {"soft"}, {}},
                 {"Cast", "wide", {"x"}, {"wide"}, {{"to", kFloat}}},
                 {"Tan", "tan", {"wide"}, {"tan"}, {}}};
  const Graph out = widened(graph, 23);
  CHECK(operators_of(out) == Words{kWide, "TopK", kNarrow, "Softplus", kWide, "Tan"});
  CHECK(out.nodes[1].outputs == Words{"values/float32", "indices"});
  CHECK(operators_of(widened(graph, 18)) == operators_of(out));
}

TEST_CASE("onnx: bodies of loops are widened too") {
  auto body = std::make_shared<Graph>();
  body->inputs = {{"step", DType::bfloat16, {}, true}};
  body->nodes = {{"Einsum", "product", {"step", "outer"}, {"product"}, {}}};
  body->outputs = {{"product", DType::bfloat16, {}, true}};
  Graph graph;
  graph.inputs = {{"x", DType::bfloat16, {}, true}};
  graph.initializers = {{"outer", Tensor(DType::bfloat16, {2, 2})}};
  graph.nodes = {{"Scan", "scan", {"x"}, {"scan"}, {{"body", std::shared_ptr<const Graph>(body)}}},
                 {"Round", "y", {"scan"}, {"y"}, {}}};
  const Graph out = widened(graph, 20);
  CHECK(operators_of(*std::get<std::shared_ptr<const Graph>>(out.nodes[0].attributes[0].value)) ==
        Words{kWide, kWide, "Einsum", kNarrow});
  CHECK(operators_of(out) == Words{"Scan", kWide, "Round", kNarrow});
  CHECK(operators_of(*body) == Words{"Einsum"});
}

}  // namespace
}  // namespace attn::onnx
