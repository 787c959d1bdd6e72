#include "attn/generate/uncached_decoder.h"

#include <doctest/doctest.h>

#include <cmath>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/rng.h"

using attn::Dim;
using attn::DType;
using attn::Tensor;
using namespace attn::generate;
using namespace attn::graph;

namespace {

constexpr Dim kVocabulary = 7, kLength = 6, kWidth = 3;

attn::graph::WeightSpec spec(const std::string& name, attn::Shape shape) {
  return {name, name, std::move(shape), DType::float32, true, {}};
}

enum class Sees : std::uint8_t { before, all };

/// Logits, or their softmax, from sums over the previous tokens of a sequence, or over all of them.
Graph graph_of(Dim rows, Sees sees, bool softmax, bool encoder = false) {
  Graph graph;
  Builder b(graph);
  std::optional<ValueId> read;
  const ValueId table = b.weight(spec("table", {kVocabulary, kWidth}));
  if (encoder) {
    const ValueId source = b.input("source", DType::int32, {rows, 4});
    read = b.apply(Reduce{ReduceFn::sum, {1}, true}, {b.apply(Gather{0}, {table, source})});
  }
  const ValueId tokens = b.input("target", DType::int32, {rows, kLength});
  ValueId x = b.apply(Gather{0}, {table, tokens});
  if (sees == Sees::before) {
    x = b.apply(Cumulate{false, 1}, {x});
  } else {
    x = b.binary(BinaryFn::add, x, b.apply(Reduce{ReduceFn::sum, {1}, true}, {x}));
  }
  if (read) x = b.binary(BinaryFn::add, x, *read);
  ValueId out = b.apply(MatMul{false, true}, {x, table});
  if (softmax) out = b.apply(Softmax{SoftmaxKind::softmax, {2}}, {out});
  graph.outputs.push_back({"output_0", out});
  return graph;
}

std::vector<Tensor> weights() {
  attn::RandomStream stream(1, "table");
  Tensor table(DType::float32, {kVocabulary, kWidth});
  for (std::int64_t i = 0; i < table.size(); ++i) table.set(i, stream.normal());
  return {table};
}

UncachedDecoder decoder_of(const attn::backends::Backend& backend, Graph graph, Dim branches = 1,
                           const std::vector<std::vector<Token>>& encoder = {}) {
  const SequenceInputs inputs = sequence_inputs(graph, "a model");
  return {backend, std::move(graph), weights(), inputs, branches, encoder, {}};
}

std::vector<float> numbers(const Tensor& tensor) { return {tensor.as<float>().begin(), tensor.as<float>().end()}; }

}  // namespace

TEST_CASE("uncached decoder: tokens one by one, all at once, and as probabilities give the same") {
  const auto backend = attn::backends::make_reference_backend();
  const std::vector<Token> tokens = {1, 5, 3, 6};
  UncachedDecoder at_once = decoder_of(*backend, graph_of(1, Sees::before, false));
  CHECK(at_once.capacity() == kLength);
  CHECK(at_once.vocabulary_size() == kVocabulary);
  const std::vector<float> all = numbers(at_once.advance({tokens, 1, 4, 0, {}, true}).logits);
  REQUIRE(all.size() == 4 * kVocabulary);
  UncachedDecoder single = decoder_of(*backend, graph_of(1, Sees::before, false));
  UncachedDecoder likely = decoder_of(*backend, graph_of(1, Sees::before, true));
  for (std::size_t p = 0; p < 4; ++p) {
    const Advance step{std::span(tokens).subspan(p, 1), 1, 1, static_cast<Dim>(p), {}, false};
    const std::vector<float> one = numbers(single.advance(step).logits);
    CHECK(one == std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(p) * kVocabulary,
                                    all.begin() + static_cast<std::ptrdiff_t>(p + 1) * kVocabulary));
    const std::vector<float> logs = numbers(likely.advance(step).logits);
    double sum = 0.0;
    for (const float x : logs) sum += std::exp(x);
    CHECK(sum == doctest::Approx(1.0));
    for (std::size_t v = 1; v < one.size(); ++v)
      CHECK(logs[v] - logs[0] == doctest::Approx(one[v] - one[0]).epsilon(1e-4));
  }
}

TEST_CASE("uncached decoder: a branch continues with the rows that its sources name") {
  const auto backend = attn::backends::make_reference_backend();
  UncachedDecoder branching = decoder_of(*backend, graph_of(2, Sees::before, false), 2);
  branching.advance({std::vector<Token>{1, 2}, 1, 2, 0, {}, false});
  branching.advance({std::vector<Token>{5, 6}, 2, 1, 2, std::vector<std::int32_t>{0, 0, 0, 0}, false});
  const std::vector<std::int32_t> crossed = {0, 0, 1, 0, 0, 0};
  const std::vector<float> both =
      numbers(branching.advance({std::vector<Token>{3, 4}, 2, 1, 3, crossed, false}).logits);
  for (const std::size_t row : {std::size_t{0}, std::size_t{1}}) {
    const std::vector<Token> context = row == 0 ? std::vector<Token>{1, 2, 6, 3} : std::vector<Token>{1, 2, 5, 4};
    UncachedDecoder alone = decoder_of(*backend, graph_of(1, Sees::before, false));
    const auto at = both.begin() + static_cast<std::ptrdiff_t>(row) * kVocabulary;
    CHECK(numbers(alone.advance({context, 1, 4, 0, {}, false}).logits) == std::vector<float>(at, at + kVocabulary));
  }
  // The source of a position is the row that read it, also if that row has continued elsewhere.
  const std::vector<std::int32_t> again = {0, 0, 0, 1, 0, 0, 1, 0};
  const std::vector<float> last = numbers(branching.advance({std::vector<Token>{2, 2}, 2, 1, 4, again, false}).logits);
  const std::vector<std::vector<Token>> contexts = {{1, 2, 5, 4, 2}, {1, 2, 6, 3, 2}};
  for (const std::size_t row : {std::size_t{0}, std::size_t{1}}) {
    UncachedDecoder alone = decoder_of(*backend, graph_of(1, Sees::before, false));
    const auto at = last.begin() + static_cast<std::ptrdiff_t>(row) * kVocabulary;
    CHECK(numbers(alone.advance({contexts[row], 1, 5, 0, {}, false}).logits) ==
          std::vector<float>(at, at + kVocabulary));
  }
}

TEST_CASE("uncached decoder: an encoder's tokens are padded with 0, and too many are rejected") {
  const auto backend = attn::backends::make_reference_backend();
  const std::vector<Token> tokens = {1};
  const auto logits = [&](const std::vector<Token>& source) {
    UncachedDecoder decoder = decoder_of(*backend, graph_of(1, Sees::before, false, true), 1, {source});
    return numbers(decoder.advance({tokens, 1, 1, 0, {}, false}).logits);
  };
  CHECK(logits({2, 3}) == logits({2, 3, 0, 0}));
  CHECK(logits({2, 3}) != logits({2, 4}));
  CHECK_THROWS_AS(logits({1, 2, 3, 4, 5}), attn::Error);
}

TEST_CASE("uncached decoder: a model that attends to later tokens, or predicts no next token, is rejected") {
  const auto backend = attn::backends::make_reference_backend();
  UncachedDecoder ahead = decoder_of(*backend, graph_of(1, Sees::all, false));
  CHECK_THROWS_AS(ahead.advance({std::vector<Token>{1, 2}, 1, 2, 0, {}, false}), attn::Error);
  Graph hidden = graph_of(1, Sees::before, false);
  hidden.outputs.front().value = hidden.nodes.front().outputs.front();  // (1, length, width)
  CHECK_THROWS_AS((void)sequence_inputs(hidden, "a model"), attn::Error);
  Graph two = graph_of(1, Sees::before, false);
  two.outputs.push_back(two.outputs.front());
  CHECK_THROWS_AS((void)sequence_inputs(two, "a model"), attn::Error);
}
