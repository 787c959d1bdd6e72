#include "attn/run/padding.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../largest.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/run/session.h"

namespace {

using namespace attn;
using graph::Builder;
using graph::ValueId;

constexpr Dim kBatch = 3, kLength = 5, kHeads = 2, kSize = 4, kWidth = 8;

/// tokens (B, S) → embeddings + positions → attention with the mask tokens ≠ 0 → residual and norm: (B, S, 8).
struct Encoder {
  graph::Graph graph;
  Builder build{graph};
  std::vector<Tensor> weights;
  ValueId tokens, mask, embedded, last;

  explicit Encoder(bool causal) {
    tokens = build.input("tokens", DType::int32, {kBatch, kLength});
    mask = build.binary(graph::BinaryFn::not_equal, tokens, build.scalar_like(tokens, 0.0));
    embedded = build.apply(graph::Gather{0}, {weight("embeddings", {10, kWidth}), tokens});
    const ValueId x = build.binary(graph::BinaryFn::add, embedded, weight("positions", {kLength, kWidth}));
    std::vector<ValueId> parts;
    for (const char* const name : {"query", "key", "value"})
      parts.push_back(build.apply(graph::Linear{}, {x, weight(name, {kWidth, kHeads, kSize})}));
    graph::Attention attention;
    attention.scale = 0.5;
    attention.causal = causal;
    attention.masks = 2;
    parts.push_back(build.reshape(mask, {kBatch, 1, 1, kLength}));
    parts.push_back(build.reshape(mask, {kBatch, 1, kLength, 1}));
    const ValueId context = build.apply(attention, parts);
    graph::Linear joined;
    joined.contracted = 2;
    const ValueId out = build.apply(joined, {context, weight("output", {kHeads, kSize, kWidth})});
    const ValueId sum = build.binary(graph::BinaryFn::add, out, x);
    last = build.apply(graph::LayerNorm{graph::NormKind::layer, {2}, 1e-3, false, false}, {sum});
  }

  ValueId weight(const std::string& path, const Shape& shape) {
    graph::WeightSpec spec;
    spec.path = spec.store_path = path;
    spec.shape = shape;
    Tensor drawn(DType::float32, shape);
    RandomStream stream(0, path);
    for (std::int64_t i = 0; i < drawn.size(); ++i) drawn.set(i, stream.normal());
    weights.push_back(drawn);
    return build.weight(spec);
  }

  /// The outputs on `backend`, with or without padding.
  [[nodiscard]] std::vector<Tensor> run(const backends::Backend& backend, const Tensor& input, bool skips) const {
    std::vector<Tensor> inputs{input};
    graph::Graph whole = graph;
    if (skips) {
      run::Unpadded unpadded = run::skip_padding(std::move(whole), inputs);
      graph::verify(unpadded.graph);
      whole = std::move(unpadded.graph);
      inputs = std::move(unpadded.inputs);
    }
    run::Session session(backend, std::move(whole), weights, {.threads = 2});
    session.run(inputs);
    std::vector<Tensor> out;
    for (const NamedTensor& output : session.outputs()) out.push_back(output.tensor.cast(DType::float64));
    return out;
  }
};

Tensor tokens_of(const std::vector<double>& numbers) {
  Tensor out(DType::int32, {kBatch, kLength});
  for (std::size_t i = 0; i < numbers.size(); ++i) out.set(static_cast<std::int64_t>(i), numbers[i]);
  return out;
}

// Sequences of different lengths, one of them only padding, and one with padding at the beginning and in the middle.
const std::vector<double> kTokens{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 5, 6};

// Sums of 8 float32 products in another order.
constexpr double kTolerance = 1e-5;

}  // namespace

TEST_CASE("skip_padding: unmasked positions have the same results, and others are 0") {
  const Tensor tokens = tokens_of(kTokens);
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    Encoder encoder(causal);
    encoder.graph.outputs = {{"output", encoder.last}};
    for (const auto& backend : {backends::make_reference_backend(), backends::make_cpu_backend()}) {
      CAPTURE(backend->name());
      const Tensor padded = encoder.run(*backend, tokens, false).front();
      const Tensor skipped = encoder.run(*backend, tokens, true).front();
      REQUIRE(skipped.shape() == padded.shape());
      for (std::int64_t i = 0; i < padded.size(); ++i) {
        const double expected = tokens.at(i / kWidth) == 0.0 ? 0.0 : padded.at(i);
        CHECK(std::abs(skipped.at(i) - expected) <= kTolerance);
      }
    }
  }
}

TEST_CASE("skip_padding: values that do not come from attention keep their padding") {
  const Tensor tokens = tokens_of(kTokens);
  Encoder encoder(false);
  encoder.graph.outputs = {{"output", encoder.last}, {"embedded", encoder.embedded}};
  const auto backend = backends::make_reference_backend();
  CHECK(test::largest_error(encoder.run(*backend, tokens, false)[1], encoder.run(*backend, tokens, true)[1]) == 0.0);
}

TEST_CASE("skip_padding: a masked mean has the same result as with padding") {
  const Tensor tokens = tokens_of({1, 2, 3, 0, 0, 7, 0, 0, 0, 0, 0, 4, 0, 5, 6});
  Encoder encoder(false);
  Builder& build = encoder.build;
  const ValueId seen = build.expand_dims(build.cast(encoder.mask, DType::float32), -1);
  const ValueId kept = build.binary(graph::BinaryFn::multiply, encoder.last, seen);
  const ValueId mean =
      build.binary(graph::BinaryFn::divide, build.apply(graph::Reduce{graph::ReduceFn::sum, {1}}, {kept}),
                   build.apply(graph::Reduce{graph::ReduceFn::sum, {1}}, {seen}));
  encoder.graph.outputs = {{"mean", mean}};
  const auto backend = backends::make_reference_backend();
  CHECK(test::largest_error(encoder.run(*backend, tokens, false)[0], encoder.run(*backend, tokens, true)[0]) <=
        kTolerance);
}

TEST_CASE("skip_padding: a batch of padding only gives zeros") {
  const Tensor tokens = tokens_of(std::vector<double>(kBatch * kLength, 0.0));
  Encoder encoder(false);
  encoder.graph.outputs = {{"output", encoder.last}};
  for (const auto& backend : {backends::make_reference_backend(), backends::make_cpu_backend()})
    CHECK(test::largest(encoder.run(*backend, tokens, true)[0]) == 0.0);
}

TEST_CASE("skip_padding: a layer that reads padding is an error that names it") {
  Encoder encoder(false);
  encoder.graph.layers.push_back({"pooled", "GlobalAveragePooling1D", {}});
  encoder.build.set_layer(0);
  encoder.graph.outputs = {{"mean", encoder.build.apply(graph::Reduce{graph::ReduceFn::mean, {1}}, {encoder.last})}};
  const std::vector<Tensor> inputs{tokens_of(kTokens)};
  CHECK_THROWS_WITH_AS(static_cast<void>(run::skip_padding(encoder.graph, inputs)),
                       "padding cannot be skipped: the layer 'pooled' (mean) reads the positions that the padding mask "
                       "hides",
                       Error);
}

TEST_CASE("skip_padding: a model without a padding mask is rejected") {
  graph::Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {1, 4, 2, 8});
  graph.outputs = {{"output", build.apply(graph::Attention{}, {x, x, x})}};
  const std::vector<Tensor> inputs{Tensor(DType::float32, {1, 4, 2, 8})};
  CHECK_THROWS_AS(static_cast<void>(run::skip_padding(graph, inputs)), Error);
}

TEST_CASE("pad_randomly: sequences are shortened and keep at least one position") {
  Encoder encoder(false);
  encoder.graph.outputs = {{"output", encoder.last}};
  std::vector<Tensor> inputs{tokens_of(std::vector<double>(kBatch * kLength, 3.0))};
  run::pad_randomly(encoder.graph, inputs, 0.3, 7);
  std::int64_t left = 0;
  for (Dim b = 0; b < kBatch; ++b) {
    CHECK(inputs[0].at(b * kLength) == 3.0);
    bool ended = false;
    for (Dim s = 0; s < kLength; ++s) {
      const bool counts = inputs[0].at(b * kLength + s) != 0.0;
      CHECK_FALSE((ended && counts));
      ended = !counts;
      left += counts ? 1 : 0;
    }
  }
  CHECK(left < kBatch * kLength);
}
