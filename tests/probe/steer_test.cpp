#include "attn/probe/steer.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/generate/generate.h"
#include "attn/generate/open_decoder.h"
#include "attn/probe/edits.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<double> kScales = {-4, -1, 0, 1, 4};

/// Generates eight tokens greedily with a KV cache, steered from a position on. The prompt is read `chunk` tokens at a
/// time.
generate::Sequence generated(Case& test, const probe::Steering& steering, Dim chunk) {
  const std::vector<probe::Id> prompt = test.prompt("clean").ids;
  generate::CachedDecoderOptions options;
  options.capacity = std::ssize(prompt) + 8;
  options.prefill_chunk = chunk;
  options.edit = [&](graph::Graph graph) { return probe::steered(std::move(graph), {&steering, 1}); };
  const auto decoder = generate::open_decoder(test.subject().backend(), test.subject().loaded(),
                                              test.subject().execution(), {}, options, 10, test.subject().listener());
  generate::Request request;
  request.prompts = {prompt};
  request.sampler.kind = generate::SamplerKind::greedy;
  request.max_length = options.capacity;
  request.keep_logits = true;
  return generate::generate(*decoder, request).sequences.front();
}

}  // namespace

TEST_CASE("probe: a steering vector is the difference of means at the last position or over all positions") {
  for (const Run& run : runs(kDecoders)) {
    Case test(run.name, run.way);
    const auto vector = [&](probe::SteerAt at) {
      return numbers(probe::steering_vector(test.subject(), test.prompts("positive"), test.prompts("negative"),
                                            "resid_post." + std::to_string(test.number("steering_layer")), at));
    };
    test.expect(vector(probe::SteerAt::last), "steering", "vector_last");
    test.expect(vector(probe::SteerAt::mean), "steering", "vector_mean");
  }
}

TEST_CASE("probe: steered decoding gives the reference's tokens for every way of reading the prompt") {
  for (const Way& way : {kWays[1], kWays[2]})
    for (const std::string& name : kDecoders) {
      Case test(name, way);
      for (const char* from : {"all", "last"})
        for (std::size_t i = 0; i < kScales.size(); ++i) {
          probe::Steering steering{"resid_post." + std::to_string(test.number("steering_layer")),
                                   test.array("steering", "vector_last"), kScales[i],
                                   std::string(from) == "last" ? 9 : 0};
          for (const Dim chunk : {512, 4}) {
            const generate::Sequence out = generated(test, steering, chunk);
            std::vector<double> tokens(out.token_ids.begin() + 10, out.token_ids.end());
            const Tensor& expected = test.array("steering", std::string("tokens_") + from);
            for (std::size_t t = 0; t < tokens.size(); ++t)
              CHECK(tokens[t] == expected.at(static_cast<std::int64_t>(i * 8 + t)));
            const std::vector<double> logits(out.logits.front().begin(), out.logits.front().end());
            test.expect(logits, "steering", std::string("logits_") + from, i * logits.size(), false);
          }
        }
    }
}

TEST_CASE("probe: a vector of the wrong size is rejected with both sizes") {
  Case test("gpt2", kWays[2]);
  const probe::Steering steering{"resid_post.0", Tensor(DType::float32, {31}), 1.0, 0};
  CHECK_THROWS_WITH_AS(
      static_cast<void>(probe::steered(test.subject().lower(1, test.prompt("ids")).graph, {&steering, 1})),
      doctest::Contains("31 elements"), Error);
}

TEST_CASE("probe: a vector of an unknown point is rejected with its file") {
  Case test("gpt2", kWays[2]);
  const probe::Steering steering{"foo", Tensor(DType::float32, {32}), 1.0, 0, "vector.npz"};
  CHECK_THROWS_WITH_AS(
      static_cast<void>(probe::steered(test.subject().lower(1, test.prompt("ids")).graph, {&steering, 1})),
      "vector.npz: the model has no point 'foo'; attn probe MODEL --list shows all of them", Error);
}

TEST_CASE("probe: an edit affects only later operations, from its position on") {
  Case test("gpt2", kWays[0]);
  const probe::Prompt prompt = test.prompt("ids");
  const probe::Lowered plain = test.subject().lower(1, prompt);
  const auto value_of = [&](graph::Graph graph, graph::ValueId value) {
    return test.subject().run({std::move(graph), plain.points}, prompt, {&value, 1}).at(value);
  };
  const graph::ValueId first = plain.points.find("resid_post.0").value, last = plain.points.find("resid_post.1").value;
  const Tensor ones = Tensor(DType::float32, {32});
  for (std::int64_t i = 0; i < 32; ++i) ones.set(i, 1.0);
  const Tensor before = value_of(plain.graph, last);
  const Tensor scaled = value_of(probe::scale(plain.graph, first, 1.0), last);
  CHECK(numbers(before) == numbers(scaled));
  const Tensor added = value_of(probe::add(plain.graph, first, ones, {graph::kNone, 8}), last);
  for (std::int64_t t = 0; t < 12; ++t) CHECK((before.at(t * 32) == added.at(t * 32)) == (t < 8));
}
