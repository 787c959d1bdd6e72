#include <doctest/doctest.h>

#include <cstdlib>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/graph/graph.h"

using namespace attn;
using namespace attn::graph;

namespace {

UInt128 whole_flops_of(const Op& op, const std::vector<Shape>& shapes) {
  Graph graph;
  Builder build(graph);
  std::vector<ValueId> inputs;
  for (const Shape& shape : shapes) inputs.push_back(build.input("", DType::float32, shape));
  build.apply(op, inputs);
  return flops(graph, graph.nodes.back());
}

UInt128 whole_attention_flops(bool causal, std::optional<std::int64_t> window, Dim query_length, Dim key_length) {
  Attention op;
  op.causal = causal;
  op.window = window;
  return whole_flops_of(op, {{2, query_length, 4, 8}, {2, key_length, 4, 8}, {2, key_length, 4, 8}});
}

/// A count that a test can print.
std::int64_t small(UInt128 count) {
  REQUIRE(bool(count <= UInt128{kMaxSize}));
  return static_cast<std::int64_t>(count);
}

std::int64_t flops_of(const Op& op, const std::vector<Shape>& shapes) { return small(whole_flops_of(op, shapes)); }

std::int64_t attention_flops(bool causal, std::optional<std::int64_t> window, Dim query_length, Dim key_length) {
  return small(whole_attention_flops(causal, window, query_length, key_length));
}

}  // namespace

TEST_CASE("flops: a product counts two for each multiply-add, and fused parts count one for each element") {
  CHECK(flops_of(MatMul{}, {{5, 2, 3}, {3, 4}}) == 2 * 5 * 2 * 3 * 4);
  CHECK(flops_of(MatMul{true, false}, {{3, 2}, {3, 4}}) == 2 * 2 * 3 * 4);
  CHECK(flops_of(Linear{}, {{5, 3}, {3, 4}}) == 2 * 5 * 3 * 4);
  CHECK(flops_of(Linear{1, true, {UnaryFn::tanh}}, {{5, 3}, {3, 4}, {4}}) == 2 * 5 * 3 * 4 + 2 * 5 * 4);
  CHECK(flops_of(Einsum{"abc,cde->abde"}, {{2, 3, 4}, {4, 5, 6}}) == 2 * 2 * 3 * 4 * 5 * 6);
  CHECK(flops_of(Conv{{1}, {1}}, {{2, 10, 4}, {3, 4, 8}}) == 2 * 2 * 8 * 3 * 4 * 8);
}

TEST_CASE("flops: moving data counts nothing") {
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
          CHECK(attention_flops(causal, window, query_length, key_length) == 2 * 4 * pairs * (2 * (8 + 8) + 5));
        }
      }
    }
  }
  CHECK(attention_flops(false, std::nullopt, 3, 5) == 2 * 4 * 3 * 5 * (2 * (8 + 8) + 5));
}

TEST_CASE("flops: counts beyond 64 bits are exact, and counts above 2^100 are rejected") {
  const Dim huge = Dim{1} << 32;
  const auto h = static_cast<UInt128>(huge);
  CHECK(bool(whole_flops_of(MatMul{}, {{huge, huge}, {huge, huge}}) == 2 * h * h * h));
  CHECK(bool(whole_attention_flops(false, std::nullopt, huge, huge) == 2 * 4 * h * h * (2 * (8 + 8) + 5)));
  // Row t sees t + 1 positions; with a window of 4 the last 4 of them.
  CHECK(bool(whole_attention_flops(true, std::nullopt, huge, huge) == 2 * 4 * (h * (h + 1) / 2) * (2 * (8 + 8) + 5)));
  const Dim longest = Dim{1} << 60;
  const UInt128 seen = 4 * static_cast<UInt128>(longest) - 6;
  CHECK(bool(whole_attention_flops(true, 4, longest, longest) == 2 * 4 * seen * (2 * (8 + 8) + 5)));
  const Dim vast = Dim{1} << 40;
  try {
    static_cast<void>(whole_flops_of(MatMul{}, {{vast, vast}, {vast, vast}}));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_memory);
    CHECK(std::string(error.what()).find("takes more than 2^100 operations") != std::string::npos);
  }
}

TEST_CASE("flops: hidden pairs can be counted too, for backends that compute and mask them") {
  Graph graph;
  Builder build(graph);
  Attention op;
  op.causal = true;
  const Shape shape{2, 6, 4, 8};
  build.apply(op, {build.input("q", DType::float32, shape), build.input("k", DType::float32, shape),
                   build.input("v", DType::float32, shape)});
  const std::int64_t pair = 2 * 4 * (2 * (8 + 8) + 5);
  CHECK(small(flops(graph, graph.nodes.back())) == 21 * pair);
  CHECK(small(flops(graph, graph.nodes.back(), HiddenPairs::counted)) == 36 * pair);
}

TEST_CASE("flops: the terms of a node are products of the sizes of axes") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 5, 3}), kernel = build.input("k", DType::float32, {3, 4, 7});
  const ValueId bias = build.input("b", DType::float32, {4, 7});
  build.apply(Linear{1, true}, {x, kernel, bias});
  const std::vector<FlopTerm> terms = flop_terms(graph, graph.nodes.back());
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].what == "multiply and add");
  CHECK(small(terms[0].count()) == 2 * 2 * 5 * 3 * 4 * 7);
  REQUIRE(terms[0].factors.size() == 6);
  CHECK(terms[0].factors[0].of == kNone);
  CHECK(terms[0].factors[1].of == x);
  CHECK(terms[0].factors[2].axis == 1);
  CHECK(terms[0].factors[3].of == kernel);
  CHECK(terms[1].what == "bias");
  CHECK(small(terms[1].count()) == 2 * 5 * 4 * 7);
}

TEST_CASE("flops: integers and masks count nothing") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::int32, {5});
  build.apply(Binary{BinaryFn::add}, {x, x});
  CHECK(small(flops(graph, graph.nodes.back())) == 0);
}
