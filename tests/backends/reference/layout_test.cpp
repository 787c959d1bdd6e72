#include "attn/base/error.h"
#include "evaluate.h"

namespace attn::test {
namespace {

const Tensor kX = tensor({2, 3}, {1, 2, 3, 4, 5, 6});

TEST_CASE("reshape, transpose, broadcast: elements are moved unchanged") {
  check_near(result(graph::Reshape{{3, -1}}, {kX}), {1, 2, 3, 4, 5, 6});
  check_near(result(graph::Transpose{{1, 0}}, {kX}), {1, 4, 2, 5, 3, 6});
  check_near(result(graph::Transpose{{2, 0, 1}}, {tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6})}), {1, 4, 2, 5, 3, 6});
  check_near(result(graph::Broadcast{{2, 2, 1}}, {tensor({2, 1}, {7, 8})}), {7, 8, 7, 8});
  check_near(result(graph::Broadcast{{0, 3}}, {tensor({3}, {1, 2, 3})}), {});
}

TEST_CASE("concat: arrays are joined along any axis, and empty parts add nothing") {
  check_near(result(graph::Concat{1}, {kX, tensor({2, 1}, {7, 8})}), {1, 2, 3, 7, 4, 5, 6, 8});
  check_near(result(graph::Concat{0}, {kX, tensor({0, 3}, {}), tensor({1, 3}, {7, 8, 9})}),
             {1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("slice: ranges are Python's, also backwards") {
  check_near(result(graph::Slice{{{}, {1, 3, 1}}}, {kX}), {2, 3, 5, 6});
  check_near(result(graph::Slice{{{-1, std::nullopt, 1}, {std::nullopt, std::nullopt, -2}}}, {kX}), {6, 4});
  check_near(result(graph::Slice{{{5, 9, 1}, {}}}, {kX}), {});
}

TEST_CASE("pad: padding has a value, mirrored elements or the edge") {
  const Tensor x = tensor({3}, {0, 1, 2});
  check_near(result(graph::Pad{graph::PadMode::constant, {1}, {2}, 9.0}, {x}), {9, 0, 1, 2, 9, 9});
  check_near(result(graph::Pad{graph::PadMode::reflect, {2}, {2}}, {x}), {2, 1, 0, 1, 2, 1, 0});
  check_near(result(graph::Pad{graph::PadMode::symmetric, {2}, {3}}, {x}), {1, 0, 0, 1, 2, 2, 1, 0});
  check_near(result(graph::Pad{graph::PadMode::edge, {1}, {2}}, {x}), {0, 0, 1, 2, 2, 2});
  check_near(result(graph::Pad{graph::PadMode::constant, {0, 1}, {1, 0}, -1.0}, {kX}),
             {-1, 1, 2, 3, -1, 4, 5, 6, -1, -1, -1, -1});
  check_near(result(graph::Pad{graph::PadMode::constant, {1}, {1}, 5.0}, {tensor({0}, {})}), {5, 5});
}

TEST_CASE("gather: rows are looked up along any axis, with negative indices from the end") {
  const Tensor indices = tensor({2, 2}, {1, 0, -1, -2}, DType::int32);
  check_near(result(graph::Gather{0}, {kX, indices}), {4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3});
  const Tensor y = evaluate(graph::Gather{1}, {kX, tensor({2}, {2, 0}, DType::int64)}).front();
  CHECK(y.shape() == Shape{2, 2});
  check_near(numbers(y), {3, 1, 6, 4});
}

TEST_CASE("gather: an index out of range is an error with its place, the table's size and the layer") {
  const Tensor indices = tensor({1, 3}, {0, 2, 1}, DType::int32);
  CHECK_THROWS_WITH_AS(result(graph::Gather{0}, {kX, indices}), "index 2 at (0, 1) is outside the table of 2 entries",
                       Error);
  graph::Graph graph;
  graph.layers.push_back({"tokens\n", "Embedding", {}});
  const graph::Node node{graph::Gather{0}, {}, {}, 0};
  const std::vector<Tensor> inputs{kX, tensor({1}, {-3}, DType::int32)}, outputs{Tensor(DType::float64, {1, 3})};
  CHECK_THROWS_WITH_AS(backends::evaluate(node, graph, inputs, outputs),
                       "layer 'tokens\\u{a}': index -3 at (0,) is outside the table of 2 entries", Error);
}

TEST_CASE("layout: elements of every width keep all their bits") {
  Tensor x(DType::uint64, {2});
  x.as<std::uint64_t>()[0] = 0x8000000000000001;
  const Tensor y = evaluate(graph::Slice{{{std::nullopt, std::nullopt, -1}}}, {x}).front();
  CHECK(y.as<std::uint64_t>()[1] == 0x8000000000000001);
  Tensor nan(DType::float32, {1});
  nan.as<std::uint32_t>()[0] = 0x7FA12345;  // a signalling NaN with a payload
  CHECK(evaluate(graph::Broadcast{{2}}, {nan}).front().as<std::uint32_t>()[1] == 0x7FA12345);
}

}  // namespace
}  // namespace attn::test
