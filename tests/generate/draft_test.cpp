#include "attn/generate/draft.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/generate/generate.h"
#include "hashing.h"

using attn::Dim;
using namespace attn::generate;

namespace {

/// Guesses the first tokens correctly, and the later ones wrongly.
class Foreseeing final : public Draft {
 public:
  Foreseeing(std::vector<Token> sequence, std::size_t right) : sequence_(std::move(sequence)), right_(right) {}
  [[nodiscard]] std::vector<Token> propose(std::span<const Token> tokens, Dim most) override {
    std::vector<Token> out;
    for (std::size_t i = 0; std::ssize(out) < most; ++i) {
      const std::size_t at = tokens.size() + i;
      const Token next = at < sequence_.size() ? sequence_[at] : 0;
      out.push_back(i < right_ ? next : (next + 1) % static_cast<Token>(Hashing::kSize));
    }
    return out;
  }

 private:
  std::vector<Token> sequence_;
  std::size_t right_;
};

Request drafted_by(SamplerKind kind) {
  Request request;
  request.prompts = {{1, 2, 3, 1, 2}};
  request.max_length = 40;
  request.sampler.kind = kind;
  request.sampler.p = 0.9;
  request.sampler.seed = 7;
  return request;
}

}  // namespace

TEST_CASE("draft: a lookup proposes the tokens after the latest occurrence of the longest matching suffix") {
  PromptLookup lookup;
  const auto proposed = [&](const std::vector<Token>& tokens, Dim most) { return lookup.propose(tokens, most); };
  CHECK(proposed({1, 2, 3, 4, 1, 2}, 8) == std::vector<Token>{3, 4, 1, 2});
  CHECK(proposed({1, 2, 3, 4, 1, 2}, 2) == std::vector<Token>{3, 4});
  CHECK(proposed({5, 2, 3, 9, 2, 4, 5, 2}, 1) == std::vector<Token>{3});  // the match "5, 2" has priority over the
                                                                          // later "2"
  CHECK(proposed({2, 3, 9, 2, 4, 2}, 1) == std::vector<Token>{4});
  CHECK(proposed({6, 6}, 3) == std::vector<Token>{6});
  CHECK(proposed({1, 2, 3}, 3).empty());
  CHECK(proposed({1}, 3).empty());
  CHECK(proposed({1, 1}, 0).empty());
}

TEST_CASE("draft: the sequence of every sampler does not depend on the proposed tokens") {
  for (const SamplerKind kind : {SamplerKind::greedy, SamplerKind::random, SamplerKind::top_k, SamplerKind::top_p}) {
    CAPTURE(static_cast<int>(kind));
    Request request = drafted_by(kind);
    request.scores = request.keep_logits = true;
    Hashing plain(1, 40);
    const Generated without = generate(plain, request);
    const std::vector<Token>& tokens = without.sequences[0].token_ids;
    for (const Dim count : {1, 3, 7}) {
      for (const std::size_t right : {std::size_t{0}, std::size_t{2}, std::size_t{7}}) {
        Foreseeing draft(tokens, right);
        request.draft = &draft;
        request.draft_tokens = count;
        Hashing decoder(1, 40);
        const Generated with = generate(decoder, request);
        CHECK(with.sequences[0].token_ids == tokens);
        CHECK(with.sequences[0].finish == Finish::length);
        CHECK(with.sequences[0].logits == without.sequences[0].logits);
        CHECK(with.sequences[0].scores.size() == without.sequences[0].scores.size());
        CHECK(with.stats.new_tokens == 35);
        CHECK((right == 0) == (with.stats.accepted_tokens == 0));
        if (right == 7 && count == 7) {
          CHECK(with.stats.accepted_tokens == with.stats.drafted_tokens);
          CHECK(decoder.calls < 10);
        }
      }
    }
  }
}

TEST_CASE("draft: a sequence ends at its stop token or on request, also inside proposed tokens") {
  Request request = drafted_by(SamplerKind::greedy);
  Hashing plain(1, 40);
  const std::vector<Token> tokens = generate(plain, request).sequences[0].token_ids;
  Foreseeing draft(tokens, 7);
  request.draft = &draft;
  request.draft_tokens = 7;
  request.stop_token_ids = {tokens[9]};
  Hashing stopping(1, 40);
  const Sequence stopped = generate(stopping, request).sequences[0];
  CHECK(stopped.finish == Finish::stop);
  CHECK(stopped.token_ids.back() == tokens[9]);
  CHECK(stopped.token_ids.size() <= 10);
  request.stop_token_ids.clear();
  request.on_token = [count = 0](std::size_t, Token) mutable { return ++count == 3; };
  Hashing told(1, 40);
  const Sequence ended = generate(told, request).sequences[0];
  CHECK(ended.finish == Finish::caller);
  CHECK(ended.token_ids.size() == 8);
}

TEST_CASE("draft: a draft model reads only new tokens, and one equal to the decoder is always accepted") {
  for (const SamplerKind kind : {SamplerKind::greedy, SamplerKind::random}) {
    Request request = drafted_by(kind);
    Hashing plain(1, 40), decoder(1, 40), small(1, 40);
    const std::vector<Token> tokens = generate(plain, request).sequences[0].token_ids;
    DraftModel draft(small);
    request.draft = &draft;
    const Generated with = generate(decoder, request);
    CHECK(with.sequences[0].token_ids == tokens);
    if (kind == SamplerKind::greedy) CHECK(with.stats.accepted_tokens == with.stats.drafted_tokens);
  }
}

TEST_CASE("draft: several prompts, and searches over several sequences, use no draft") {
  PromptLookup lookup;
  Hashing decoder(10, 40);
  Request request = drafted_by(SamplerKind::greedy);
  request.draft = &lookup;
  request.prompts.push_back({1, 2});
  CHECK_THROWS_AS((void)generate(decoder, request), attn::Error);
  for (const SamplerKind kind : {SamplerKind::beam, SamplerKind::contrastive}) {
    Request search = drafted_by(kind);
    search.draft = &lookup;
    CHECK_THROWS_AS((void)generate(decoder, search), attn::Error);
  }
}
