#include "attn/generate/generate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attn/base/error.h"
#include "hashing.h"

using attn::Dim;
using attn::Shape;
using attn::Tensor;
using namespace attn::generate;

namespace {

Generated run(const Request& request) {
  Hashing decoder(static_cast<Dim>(request.prompts.size()) * branches_of(request.sampler), request.max_length);
  return generate(decoder, request);
}

Token best_after(const std::vector<Token>& context) {
  Token best = 0;
  for (Token i = 0; i < Hashing::kSize; ++i)
    if (Hashing::number(context, i) > Hashing::number(context, best)) best = i;
  return best;
}

double log_softmax(const std::vector<Token>& context, Token token) {
  double sum = 0.0;
  for (Dim i = 0; i < Hashing::kSize; ++i) sum += std::exp(Hashing::number(context, i));
  return Hashing::number(context, token) - std::log(sum);
}

Request request_of(SamplerKind kind) {
  Request request;
  request.prompts = {{1, 2, 3}, {4, 5}, {6, 7, 8, 9, 1}};
  request.max_length = 12;
  request.sampler.kind = kind;
  request.sampler.seed = 42;
  return request;
}

}  // namespace

TEST_CASE("generate: greedy selects the most probable token of each sequence, and keeps prompts of all lengths") {
  const Request request = request_of(SamplerKind::greedy);
  const Generated out = run(request);
  REQUIRE(out.sequences.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<Token> expected = request.prompts[i];
    while (expected.size() < 12) expected.push_back(best_after(expected));
    CHECK(out.sequences[i].token_ids == expected);
    CHECK(out.sequences[i].finish == Finish::length);
    CHECK(out.sequences[i].prompt_length == static_cast<Dim>(request.prompts[i].size()));
  }
  CHECK(out.stats.new_tokens == 9 + 10 + 7);
}

TEST_CASE("generate: a sequence ends after its first stop token, and one in the prompt does not count") {
  Request request = request_of(SamplerKind::greedy);
  const Generated whole = run(request);
  request.stop_token_ids = {whole.sequences[0].token_ids[5], 6};
  const Generated out = run(request);
  for (const Sequence& sequence : out.sequences) {
    const auto added =
        std::vector<Token>(sequence.token_ids.begin() + sequence.prompt_length, sequence.token_ids.end());
    const auto stops = std::ranges::count_if(added, [&](Token token) {
      return std::ranges::find(request.stop_token_ids, token) != request.stop_token_ids.end();
    });
    CHECK(stops == (sequence.finish == Finish::stop ? 1 : 0));
    if (sequence.finish == Finish::stop)
      CHECK(std::ranges::find(request.stop_token_ids, added.back()) != request.stop_token_ids.end());
  }
  CHECK(out.sequences[0].token_ids.size() <= 6);
}

TEST_CASE("generate: max_new_tokens counts for each sequence, and a prompt of max_length is returned unchanged") {
  Request request = request_of(SamplerKind::greedy);
  request.max_new_tokens = 2;
  for (const Sequence& sequence : run(request).sequences)
    CHECK(static_cast<Dim>(sequence.token_ids.size()) == sequence.prompt_length + 2);
  request.max_length = 4;
  const Generated cut = run(request);
  CHECK(cut.sequences[2].token_ids == std::vector<Token>{6, 7, 8, 9});
  CHECK(cut.sequences[2].finish == Finish::length);
  CHECK(cut.sequences[1].token_ids.size() == 4);
  CHECK(cut.sequences[0].token_ids.size() == 4);
}

TEST_CASE("generate: a seed fixes the draws, and each row of a batch has its own") {
  for (const SamplerKind kind : {SamplerKind::random, SamplerKind::top_k, SamplerKind::top_p}) {
    Request request = request_of(kind);
    request.sampler.p = 0.9;
    request.prompts = {{1, 2}, {1, 2}};
    const Generated first = run(request), again = run(request);
    CHECK(first.sequences[0].token_ids == again.sequences[0].token_ids);
    CHECK(first.sequences[0].token_ids != first.sequences[1].token_ids);
    request.sampler.seed = 43;
    CHECK(run(request).sequences[0].token_ids != first.sequences[0].token_ids);
  }
}

TEST_CASE("generate: every sampler with one candidate is greedy") {
  const Generated greedy = run(request_of(SamplerKind::greedy));
  for (const SamplerKind kind : {SamplerKind::top_k, SamplerKind::top_p, SamplerKind::beam, SamplerKind::contrastive}) {
    Request request = request_of(kind);
    request.sampler.k = 1;
    request.sampler.num_beams = 1;
    const Generated out = run(request);
    for (std::size_t i = 0; i < 3; ++i) CHECK(out.sequences[i].token_ids == greedy.sequences[i].token_ids);
  }
}

TEST_CASE("generate: beams without pruning are the most probable sequences") {
  Request request = request_of(SamplerKind::beam);
  request.prompts = {{1, 2, 3}, {4, 5, 6}};
  request.max_length = 5;
  request.sampler.num_beams = 11;  // every first token has a beam
  const Generated out = run(request);
  for (std::size_t i = 0; i < 2; ++i) {
    std::map<double, std::vector<Token>> all;
    for (Token a = 0; a < 11; ++a) {
      for (Token b = 0; b < 11; ++b) {
        std::vector<Token> tokens = request.prompts[i];
        double score = log_softmax(tokens, a);
        tokens.push_back(a);
        score += log_softmax(tokens, b);
        tokens.push_back(b);
        all[-score] = tokens;
      }
    }
    REQUIRE(out.sequences[i].beams.size() == 11);
    CHECK(out.sequences[i].token_ids == all.begin()->second);
    auto expected = all.begin();
    for (const Beam& beam : out.sequences[i].beams) {
      CHECK(beam.log_probability == doctest::Approx(-expected->first).epsilon(1e-5));
      ++expected;
    }
  }
}

TEST_CASE("generate: beams of prompts of two lengths keep the longer prompt") {
  Request request = request_of(SamplerKind::beam);
  request.sampler.num_beams = 3;
  const Generated out = run(request);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Beam& beam : out.sequences[i].beams) {
      CHECK(std::equal(request.prompts[i].begin(), request.prompts[i].end(), beam.token_ids.begin()));
      CHECK(beam.token_ids.size() == 12);
    }
  }
}

TEST_CASE("generate: contrastive search without a penalty is greedy, and with one follows the selected rows") {
  Request request = request_of(SamplerKind::contrastive);
  request.sampler.k = 4;
  request.sampler.alpha = 0.0;
  const Generated greedy = run(request_of(SamplerKind::greedy)), plain = run(request);
  for (std::size_t i = 0; i < 3; ++i) CHECK(plain.sequences[i].token_ids == greedy.sequences[i].token_ids);
  request.sampler.alpha = 0.6;
  const Generated out = run(request);  // The Hashing decoder checks the rows
  CHECK(out.sequences[0].token_ids.size() == 12);
}

TEST_CASE("generate: requested logits belong to the added tokens") {
  Request request = request_of(SamplerKind::top_k);
  request.scores = true;
  request.most_likely = 2;
  request.keep_logits = true;
  for (const SamplerKind kind : {SamplerKind::top_k, SamplerKind::beam, SamplerKind::contrastive}) {
    request.sampler.kind = kind;
    for (const Sequence& sequence : run(request).sequences) {
      const auto added = sequence.token_ids.size() - static_cast<std::size_t>(sequence.prompt_length);
      REQUIRE(sequence.scores.size() == added);
      REQUIRE(sequence.logits.size() == added);
      for (std::size_t i = 0; i < added; ++i) {
        const auto at = static_cast<std::size_t>(sequence.prompt_length) + i;
        const std::vector<Token> context(sequence.token_ids.begin(),
                                         sequence.token_ids.begin() + static_cast<std::ptrdiff_t>(at));
        CHECK(sequence.scores[i].chosen.token == sequence.token_ids[at]);
        CHECK(sequence.scores[i].chosen.log_probability ==
              doctest::Approx(log_softmax(context, sequence.token_ids[at])).epsilon(1e-5));
        CHECK(sequence.scores[i].most_likely.at(0).token == best_after(context));
        CHECK(sequence.logits[i].at(3) == doctest::Approx(Hashing::number(context, 3)));
      }
    }
  }
}

TEST_CASE("generate: the caller is informed of each added token, and can end a sequence") {
  Request request = request_of(SamplerKind::greedy);
  std::vector<std::vector<Token>> heard(3);
  request.on_token = [&](std::size_t sequence, Token token) {
    heard[sequence].push_back(token);
    return sequence == 1 && heard[1].size() == 3;
  };
  const Generated out = run(request);
  CHECK(out.sequences[1].finish == Finish::caller);
  CHECK(out.sequences[1].token_ids.size() == 5);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& sequence = out.sequences[i];
    CHECK(heard[i] ==
          std::vector<Token>(sequence.token_ids.begin() + sequence.prompt_length, sequence.token_ids.end()));
  }
}

TEST_CASE("generate: a prompt is returned with one padding token if padding counts as a stop token, as in KerasHub") {
  Request request = request_of(SamplerKind::greedy);
  request.stop_token_ids = {0};
  request.pad_token_id = 0;
  const Generated out = run(request);
  CHECK(out.sequences[0].token_ids == std::vector<Token>{1, 2, 3, 0});
  CHECK(out.sequences[0].finish == Finish::stop);
}

TEST_CASE("generate: options out of range are rejected by name") {
  const auto refused = [](auto&& change) {
    Request request = request_of(SamplerKind::top_k);
    change(request.sampler);
    CHECK_THROWS_AS(run(request), attn::Error);
  };
  refused([](SamplerOptions& s) { s.temperature = 0.0; });
  refused([](SamplerOptions& s) { s.temperature = 1e-300; });
  refused([](SamplerOptions& s) { s.k = 0; });
  refused([](SamplerOptions& s) { s.p = 1.5; });
  refused([](SamplerOptions& s) { s.num_beams = 0; });
  refused([](SamplerOptions& s) { s.alpha = -0.1; });
}
