#include <doctest/doctest.h>

#include <cstdlib>

#include "attn/base/size.h"
#include "attn/graph/graph.h"

using namespace attn;
using namespace attn::graph;

namespace {

std::int64_t flops_of(const Op& op, const std::vector<Shape>& shapes) {
  Graph graph;
  Builder build(graph);
  std::vector<ValueId> inputs;
  for (const Shape& shape : shapes) inputs.push_back(build.input("", DType::float32, shape));
  build.apply(op, inputs);
  return flops(graph, graph.nodes.back());
}

std::int64_t attention_flops(bool causal, std::optional<std::int64_t> window, Dim query_length, Dim key_length) {
  Attention op;
  op.causal = causal;
  op.window = window;
  return flops_of(op, {{2, query_length, 4, 8}, {2, key_length, 4, 8}, {2, key_length, 4, 8}});
}

}  // namespace

TEST_CASE("flops: a product costs two for each multiply-add, its fused parts one for each number") {
  CHECK(flops_of(MatMul{}, {{5, 2, 3}, {3, 4}}) == 2 * 5 * 2 * 3 * 4);
  CHECK(flops_of(MatMul{true, false}, {{3, 2}, {3, 4}}) == 2 * 2 * 3 * 4);
  CHECK(flops_of(Linear{}, {{5, 3}, {3, 4}}) == 2 * 5 * 3 * 4);
  CHECK(flops_of(Linear{1, true, {UnaryFn::relu}}, {{5, 3}, {3, 4}, {4}}) == 2 * 5 * 3 * 4 + 2 * 5 * 4);
  CHECK(flops_of(Einsum{"abc,cde->abde"}, {{2, 3, 4}, {4, 5, 6}}) == 2 * 2 * 3 * 4 * 5 * 6);
  CHECK(flops_of(Conv{{1}, {1}}, {{2, 10, 4}, {3, 4, 8}}) == 2 * 2 * 8 * 3 * 4 * 8);
}

TEST_CASE("flops: moving data costs nothing") {
  CHECK(flops_of(Transpose{{1, 0}}, {{5, 3}}) == 0);
  CHECK(flops_of(Einsum{"ab->ba"}, {{5, 3}}) == 0);
  CHECK(flops_of(Cast{DType::float16}, {{5, 3}}) == 0);
}

TEST_CASE("flops: attention counts the pairs of positions that can see each other") {
  for (const Dim query_length : {0, 1, 3, 6}) {
    for (const Dim key_length : {1, 4, 6}) {
      for (const bool causal : {false, true}) {
        for (std::int64_t window = 0; window <= 8; ++window) {
          std::int64_t pairs = 0;
          for (Dim t = 0; t < query_length; ++t) {
            for (Dim s = 0; s < key_length; ++s) pairs += (!causal || s <= t) && std::abs(t - s) < window;
          }
          CAPTURE(query_length);
          CAPTURE(key_length);
          CAPTURE(causal);
          CAPTURE(window);
          CHECK(attention_flops(causal, window, query_length, key_length) == 2 * 4 * pairs * (2 * (8 + 8) + 6));
        }
      }
    }
  }
  CHECK(attention_flops(false, std::nullopt, 3, 5) == 2 * 4 * 3 * 5 * (2 * (8 + 8) + 6));
}

TEST_CASE("flops: a count that does not fit stops at the largest") {
  const Dim huge = Dim{1} << 40;
  CHECK(flops_of(MatMul{}, {{huge, huge}, {huge, huge}}) == kMaxSize);
  CHECK(attention_flops(true, 4, Dim{1} << 60, Dim{1} << 60) == kMaxSize);
}
