#include "attn/generate/cached_decoder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/base/rng.h"

using attn::Dim;
using attn::DType;
using attn::Shape;
using attn::Tensor;
using namespace attn::generate;
using attn::graph::ValueId;

namespace {

constexpr Dim kVocabulary = 13, kWidth = 16, kHeads = 4, kKeyHeads = 2, kSize = 4, kCapacity = 20;

attn::graph::WeightSpec spec(const std::string& name, Shape shape) {
  return {name, name, std::move(shape), DType::float32, true, {}};
}

/// One attention layer between an embedding with trained positions and the head.
attn::graph::Graph lower(const StepShape& shape) {
  using namespace attn::graph;
  Graph graph;
  Builder b(graph);
  const ValueId tokens = b.input("token_ids", DType::int32, {shape.rows, shape.count});
  const ValueId position = b.input("position", DType::int32, {});
  const ValueId table = b.weight(spec("table", {kVocabulary, kWidth})),
                places = b.weight(spec("places", {kCapacity, kWidth}));
  const ValueId positions = b.binary(BinaryFn::add, b.apply(Iota{{shape.count}, DType::int32, 0}, {}), position);
  const ValueId x =
      b.binary(BinaryFn::add, b.apply(Gather{0}, {table, tokens}), b.apply(Gather{0}, {places, positions}));
  const auto project = [&](const std::string& name, Dim heads) {
    return b.apply(Linear{1}, {x, b.weight(spec(name, {kWidth, heads, kSize}))});
  };
  const ValueId query = project("query", kHeads), key = project("key", kKeyHeads), value = project("value", kKeyHeads);
  const auto cached = [&](const std::string& name, ValueId rows) {
    return b.apply(Append{},
                   {b.state(name, DType::float32, {shape.entries, kKeyHeads, shape.capacity, kSize}), rows, position});
  };
  const ValueId length = b.binary(BinaryFn::add, position, b.scalar_like(position, static_cast<double>(shape.count)));
  CachedAttention attention;
  attention.scale = 0.5;
  attention.sources = shape.sources;
  std::vector<ValueId> inputs = {query, cached("keys", key), cached("values", value), length};
  if (shape.sources) inputs.push_back(b.input("sources", DType::int32, {shape.rows, shape.capacity}));
  const ValueId context = b.apply(attention, inputs);
  ValueId hidden =
      b.binary(BinaryFn::add, x, b.apply(Linear{2}, {context, b.weight(spec("output", {kHeads, kSize, kWidth}))}));
  if (shape.hidden) graph.outputs.push_back({"hidden", hidden});
  if (!shape.every_position) {
    Slice last;
    last.ranges = {{}, {shape.count - 1, shape.count}, {}};
    hidden = b.apply(last, {hidden});
  }
  graph.outputs.push_back({"logits", b.apply(MatMul{false, true}, {hidden, table})});
  return graph;
}

std::vector<Tensor> weights() {
  std::vector<Tensor> out;
  for (const auto& spec : lower({1, 1, 1, kCapacity}).weights) {
    attn::RandomStream stream(0, spec.path);
    Tensor weight(spec.dtype, spec.shape);
    for (std::int64_t i = 0; i < weight.size(); ++i) weight.set(i, stream.normal());
    out.push_back(std::move(weight));
  }
  return out;
}

CachedDecoder decoder(const attn::backends::Backend& backend, Dim rows, Dim branches, Dim chunk = 512) {
  CachedDecoderOptions options;
  options.rows = rows;
  options.branches = branches;
  options.capacity = kCapacity;
  options.prefill_chunk = chunk;
  options.hidden = true;
  return {backend, lower, weights(), options};
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.at(i));
  return out;
}

/// The tolerance of two float32 results whose sums have different orders: with AVX2 each of them is up to 1.8e-4 from
/// the reference, which sums in double.
void check_equal(const std::vector<double>& x, const std::vector<double>& y) {
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(2e-5).scale(10.0));
}

const std::vector<Token> kTokens = {1, 5, 3, 12, 0, 7, 7, 2, 9, 4};

std::vector<std::unique_ptr<attn::backends::Backend>> backends() {
  std::vector<std::unique_ptr<attn::backends::Backend>> out;
  out.push_back(attn::backends::make_reference_backend());
  out.push_back(attn::backends::make_cpu_backend());
  return out;
}

}  // namespace

TEST_CASE("cached decoder: tokens one by one, in chunks and all at once give the same logits and hidden states") {
  for (const auto& backend : backends()) {
    CachedDecoder whole = decoder(*backend, 1, 1);
    const DecoderOutput all = whole.advance({kTokens, 1, 10, 0, {}, true});
    const std::vector<double> expected = numbers(all.logits), hidden = numbers(all.hidden);
    CachedDecoder chunked = decoder(*backend, 1, 1, 4);
    const DecoderOutput in_chunks = chunked.advance({kTokens, 1, 10, 0, {}, true});
    check_equal(numbers(in_chunks.logits), expected);
    check_equal(numbers(in_chunks.hidden), hidden);
    CachedDecoder single = decoder(*backend, 1, 1);
    for (Dim p = 0; p < 10; ++p) {
      const DecoderOutput one =
          single.advance({std::span(kTokens).subspan(static_cast<std::size_t>(p), 1), 1, 1, p, {}, false});
      check_equal(numbers(one.logits), {expected.begin() + p * kVocabulary, expected.begin() + (p + 1) * kVocabulary});
    }
  }
}

TEST_CASE("cached decoder: a branch continues with the rows that its sources name") {
  for (const auto& backend : backends()) {
    CachedDecoder branching = decoder(*backend, 1, 3);
    branching.advance({std::span(kTokens).first(4), 1, 4, 0, {}, false});
    const std::vector<std::int32_t> prompt(12, 0);  // for the four positions of each branch
    branching.advance({std::vector<Token>{5, 6, 7}, 3, 1, 4, prompt, false});
    // Branches 0 and 1 continue with the context of branch 2, and branch 2 with that of branch 0.
    const std::vector<std::int32_t> chosen = {0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0};
    const std::vector<double> logits =
        numbers(branching.advance({std::vector<Token>{8, 9, 10}, 3, 1, 5, chosen, false}).logits);
    const std::vector<std::vector<Token>> contexts = {{7, 8}, {7, 9}, {5, 10}};
    for (std::size_t row = 0; row < 3; ++row) {
      std::vector<Token> tokens(kTokens.begin(), kTokens.begin() + 4);
      tokens.insert(tokens.end(), contexts[row].begin(), contexts[row].end());
      CachedDecoder alone = decoder(*backend, 1, 1);
      const auto at = logits.begin() + static_cast<std::ptrdiff_t>(row) * kVocabulary;
      check_equal(numbers(alone.advance({tokens, 1, 6, 0, {}, false}).logits), {at, at + kVocabulary});
    }
  }
}

TEST_CASE("cached decoder: rows of a batch equal those of separate runs") {
  for (const auto& backend : backends()) {
    CachedDecoder both = decoder(*backend, 2, 1);
    const std::vector<Token> tokens = {1, 2, 3, 9, 8, 7};
    const std::vector<double> logits = numbers(both.advance({tokens, 2, 3, 0, {}, false}).logits);
    for (std::size_t row = 0; row < 2; ++row) {
      CachedDecoder alone = decoder(*backend, 1, 1);
      const auto at = logits.begin() + static_cast<std::ptrdiff_t>(row) * kVocabulary;
      check_equal(numbers(alone.advance({std::span(tokens).subspan(row * 3, 3), 1, 3, 0, {}, false}).logits),
                  {at, at + kVocabulary});
    }
  }
}
