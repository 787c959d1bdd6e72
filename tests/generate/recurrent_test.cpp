// Decoders with a recurrent state, compared with passes over whole sequences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "../places.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/generate/draft.h"
#include "attn/generate/generate.h"
#include "attn/generate/open_decoder.h"
#include "attn/generate/open_uncached.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"

namespace attn::test::recurrent {
namespace {

using namespace attn::generate;

/// RWKV-7, and Qwen 3.5 with layers of linear and of full attention, with and without mixtures of experts.
const std::vector<std::string> kModels = {"keras/families/rwkv7_causal_lm/model.keras",
                                          "keras/families/qwen3_5_causal_lm/model.keras", "image_text/qwen3_5/preset",
                                          "image_text/qwen3_5_moe/preset"};
constexpr Dim kLength = 12;
const std::vector<Token> kTokens = {3, 5, 7, 2, 2, 8, 1, 4, 6, 3, 5, 7};

const std::vector<std::unique_ptr<backends::Backend>>& both_backends() {
  static const auto made = [] {
    std::vector<std::unique_ptr<backends::Backend>> out;
    out.push_back(backends::make_reference_backend());
    out.push_back(backends::make_cpu_backend());
    return out;
  }();
  return made;
}

/// A model in a dtype, and its decoders.
class Model {
 public:
  explicit Model(const std::string& path, const std::string& dtype = "float32") {
    execution_.dtype = dtype;
    execution_.threads = 1;
    loaded_ =
        std::make_unique<open::LoadedModel>(open::load_model(in_repository("tests/data/" + path), execution_, silent_));
  }

  [[nodiscard]] std::unique_ptr<CachedDecoder> decoder(const backends::Backend& backend, Dim rows = 1, Dim branches = 1,
                                                       Dim chunk = 512, Dim kept = 1) const {
    CachedDecoderOptions options;
    options.rows = rows;
    options.branches = branches;
    options.capacity = kLength;
    options.prefill_chunk = chunk;
    options.kept = kept;
    options.hidden = true;
    return open_decoder(backend, *loaded_, execution_, {}, options, kLength, silent_);
  }
  [[nodiscard]] std::unique_ptr<UncachedDecoder> whole(const backends::Backend& backend, std::size_t rows = 1,
                                                       Dim branches = 1) const {
    return open_uncached(backend, *loaded_, execution_, uncached_sequences(*loaded_, execution_, kLength), rows,
                         branches, {}, {}, silent_);
  }

 private:
  open::Silent silent_;
  open::Execution execution_;
  std::unique_ptr<open::LoadedModel> loaded_;
};

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.at(i));
  return out;
}

double largest_of(const std::vector<double>& numbers) {
  double most = 0.0;
  for (const double number : numbers) most = std::max(most, std::abs(number));
  return most;
}

/// Returns the largest difference from the expected numbers from `first` on.
double largest_error(const std::vector<double>& got, const std::vector<double>& expected, std::size_t first = 0) {
  REQUIRE(first + got.size() <= expected.size());
  double most = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - expected[first + i]));
  return most;
}

constexpr double kSumOrder = 2e-5;  // float32 sums in another order, relative to the largest number

std::span<const Token> tokens(Dim first, Dim count) {
  return std::span(kTokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

Request request_for(std::vector<std::vector<Token>> prompts, SamplerKind kind) {
  Request request;
  request.prompts = std::move(prompts);
  request.max_length = kLength;
  request.sampler.kind = kind;
  request.sampler.k = 3;
  request.sampler.num_beams = 3;
  request.sampler.seed = 7;
  return request;
}

std::vector<std::vector<Token>> ids_of(const Generated& generated) {
  std::vector<std::vector<Token>> out;
  for (const Sequence& sequence : generated.sequences) out.push_back(sequence.token_ids);
  return out;
}

/// Guesses the first `right` tokens correctly, and the later ones wrongly.
class Guesses final : public Draft {
 public:
  Guesses(std::vector<Token> sequence, std::size_t right) : sequence_(std::move(sequence)), right_(right) {}
  [[nodiscard]] std::vector<Token> propose(std::span<const Token> known, Dim most) override {
    std::vector<Token> out;
    for (std::size_t i = 0; std::ssize(out) < most; ++i) {
      const std::size_t at = std::min(known.size() + i, sequence_.size() - 1);
      out.push_back(i < right_ ? sequence_[at] : (sequence_[at] + 1) % 9);
    }
    return out;
  }

 private:
  std::vector<Token> sequence_;
  std::size_t right_;
};

}  // namespace

TEST_CASE("recurrent: tokens one by one, in chunks and all at once give the logits of whole sequences") {
  const Advance all{kTokens, 1, kLength, 0, {}, true};
  for (const std::string& path : kModels) {
    const auto& reference = *both_backends().front();
    const Model exact(path);
    const std::vector<double> expected = numbers(exact.whole(reference)->advance(all).logits),
                              hidden = numbers(exact.decoder(reference)->advance(all).hidden);
    const auto vocabulary = expected.size() / kLength;
    for (const char* dtype : {"float32", "bfloat16"}) {
      CAPTURE(path);
      CAPTURE(std::string(dtype));
      const Model model(path, dtype);
      for (const auto& backend : both_backends()) {
        // In half precision, a decode step may be as far beyond the error of a whole sequence.
        const double own = largest_error(numbers(model.whole(*backend)->advance(all).logits), expected);
        const double allowed = std::max(2.0 * own, kSumOrder * largest_of(expected));
        for (const Dim chunk : {Dim{1}, Dim{5}, kLength}) {
          for (const Dim kept : {Dim{1}, Dim{3}}) {
            const auto decoder = model.decoder(*backend, 1, 1, chunk, kept);
            const DecoderOutput out = decoder->advance(all);
            CHECK(largest_error(numbers(out.logits), expected) <= allowed);
            if (std::string(dtype) == "float32")
              CHECK(largest_error(numbers(out.hidden), hidden) <= kSumOrder * largest_of(hidden));
          }
        }
        // The second sequence begins again without a state.
        const auto decoder = model.decoder(*backend);
        decoder->advance(all);
        for (Dim p = 0; p < kLength; ++p) {
          const DecoderOutput out = decoder->advance({tokens(p, 1), 1, 1, p, {}, false});
          CHECK(largest_error(numbers(out.logits), expected, static_cast<std::size_t>(p) * vocabulary) <= allowed);
        }
      }
    }
  }
}

TEST_CASE("recurrent: a batch of prompts and every search give the tokens of whole sequences") {
  const std::vector<std::vector<Token>> prompts = {{3, 5, 7}, {4, 2, 8, 1, 6}, {1, 1}};
  for (const std::string& path : kModels) {
    CAPTURE(path);
    const Model model(path);
    for (const auto& backend : both_backends()) {
      for (const SamplerKind kind :
           {SamplerKind::greedy, SamplerKind::random, SamplerKind::top_k, SamplerKind::top_p, SamplerKind::beam}) {
        CAPTURE(std::string(class_name_of(kind)));
        const Request request = request_for(prompts, kind);
        const Dim branches = branches_of(request.sampler);
        CHECK(ids_of(generate::generate(*model.decoder(*backend, 3, branches), request)) ==
              ids_of(generate::generate(*model.whole(*backend, 3, branches), request)));
      }
      // Contrastive search needs hidden states, which whole sequences do not give. With one candidate it is greedy.
      Request single = request_for(prompts, SamplerKind::contrastive);
      single.sampler.k = 1;
      const auto expected =
          ids_of(generate::generate(*model.decoder(*backend, 3), request_for(prompts, SamplerKind::greedy)));
      CHECK(ids_of(generate::generate(*model.decoder(*backend, 3), single)) == expected);
      const Request request = request_for(prompts, SamplerKind::contrastive);
      const auto together = ids_of(generate::generate(*model.decoder(*backend, 3, 3), request));
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        const Request alone = request_for({prompts[i]}, SamplerKind::contrastive);
        CHECK(ids_of(generate::generate(*model.decoder(*backend, 1, 3), alone)).front() == together[i]);
      }
    }
  }
}

TEST_CASE("recurrent: a branch continues with the state of the row that its sources name") {
  for (const std::string& path : kModels) {
    CAPTURE(path);
    const Model model(path);
    for (const auto& backend : both_backends()) {
      const auto branching = model.decoder(*backend, 1, 3);
      branching->advance({tokens(0, 4), 1, 4, 0, {}, false});
      branching->advance({std::vector<Token>{5, 6, 7}, 3, 1, 4, std::vector<std::int32_t>(12, 0), false});
      // Branches 0 and 1 continue with the context of branch 2, and branch 2 with that of branch 0.
      const std::vector<std::int32_t> chosen = {0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0};
      const std::vector<double> logits =
          numbers(branching->advance({std::vector<Token>{8, 3, 1}, 3, 1, 5, chosen, false}).logits);
      const std::vector<std::vector<Token>> contexts = {{7, 8}, {7, 3}, {5, 1}};
      for (std::size_t row = 0; row < 3; ++row) {
        std::vector<Token> all(kTokens.begin(), kTokens.begin() + 4);
        all.insert(all.end(), contexts[row].begin(), contexts[row].end());
        const auto alone = model.decoder(*backend);
        const std::vector<double> got = numbers(alone->advance({all, 1, 6, 0, {}, false}).logits);
        CHECK(largest_error(got, logits, row * logits.size() / 3) <= kSumOrder * largest_of(logits));
      }
    }
  }
}

TEST_CASE("recurrent: wrong guesses of a draft are taken back") {
  constexpr Dim kGuesses = 3;
  for (const std::string& path : kModels) {
    CAPTURE(path);
    const Model model(path);
    for (const auto& backend : both_backends()) {
      Request request = request_for({{3, 5}}, SamplerKind::greedy);
      const auto expected = ids_of(generate::generate(*model.decoder(*backend), request));
      for (const std::size_t right : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        CAPTURE(right);
        Guesses draft(expected.front(), right);
        request.draft = &draft;
        request.draft_tokens = kGuesses;
        CHECK(ids_of(generate::generate(*model.decoder(*backend, 1, 1, 512, kGuesses + 1), request)) == expected);
        const auto guessing = model.decoder(*backend, 1, 1, 512, kGuesses + 1);
        DraftModel itself(*guessing);
        request.draft = &itself;
        CHECK(ids_of(generate::generate(*model.decoder(*backend, 1, 1, 512, kGuesses + 1), request)) == expected);
      }
    }
  }
}

TEST_CASE("recurrent: a step begins where a state is kept") {
  const Model model(kModels.front());
  const auto decoder = model.decoder(*both_backends().back(), 1, 1, 512, 3);
  const auto begins = [&] {
    std::vector<Dim> out;
    for (Dim p = 0; p <= kLength; ++p)
      if (decoder->can_begin_at(p)) out.push_back(p);
    return out;
  };
  CHECK(begins() == std::vector<Dim>{0});
  decoder->advance({tokens(0, 6), 1, 6, 0, {}, false});
  CHECK(begins() == std::vector<Dim>{0, 4, 5, 6});
  decoder->advance({tokens(4, 1), 1, 1, 4, {}, false});
  CHECK(begins() == std::vector<Dim>{0, 4, 5});
  CHECK_THROWS_AS(decoder->advance({tokens(6, 1), 1, 1, 6, {}, false}), Error);
  decoder->advance({tokens(0, 1), 1, 1, 0, {}, false});
  CHECK(begins() == std::vector<Dim>{0, 1});
}

}  // namespace attn::test::recurrent
