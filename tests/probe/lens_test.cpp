#include "attn/probe/lens.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cases.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("probe: the lens reads every point in the same way as the model reads the last one") {
  for (const Run& run : runs(kDecoders)) {
    Case test(run.name, run.way);
    const probe::Prompt prompt = test.prompt("ids");
    probe::LensOptions options;
    options.mid = true;
    const probe::Lens lens = probe::lens(test.subject(), prompt, options);
    CHECK(lens.points == test.names("lens_points"));
    std::vector<double> entropy, divergence, top, ids, next, ranks;
    for (const auto& row : lens.cells)
      for (const probe::LensCell& cell : row) {
        entropy.push_back(cell.entropy);
        divergence.push_back(cell.kl_to_final);
        for (const probe::TokenProbability& token : cell.top) {
          top.push_back(token.log_prob);
          ids.push_back(token.token);
        }
        if (!cell.target) continue;
        next.push_back(cell.target->log_prob);
        ranks.push_back(static_cast<double>(cell.target->rank));
      }
    test.expect(entropy, "lens", "entropy");
    test.expect(divergence, "lens", "kl_to_final");
    test.expect(top, "lens", "top_log_probs");
    test.expect(next, "lens", "next_token_log_prob");
    if (test.is_quantized()) continue;  // tokens of nearly equal logits change places
    CHECK(ids == numbers(test.array("lens", "top_ids")));
    CHECK(ranks == numbers(test.array("lens", "next_token_rank")));
  }
}

TEST_CASE("probe: the lens of an encoder-decoder reads its decoder, and that of a classifier its classes") {
  for (const Way& way : kWays) {
    Case t5("t5_tied", way);
    probe::Prompt prompt = t5.prompt("decoder");
    prompt.encoder = t5.prompt("encoder").ids;
    probe::LensOptions options;
    options.mid = true;
    std::vector<double> entropy;
    for (const auto& row : probe::lens(t5.subject(), prompt, options).cells)
      for (const probe::LensCell& cell : row) entropy.push_back(cell.entropy);
    // The lens also reads the stream before the first block, which the reference leaves out.
    entropy.erase(entropy.begin(), entropy.begin() + 6);
    t5.expect(entropy, "seq2seq", "lens_entropy");

    Case bert("bert_classifier", way);
    const probe::Lens lens = probe::lens(bert.subject(), bert.prompt("ids"), {});
    REQUIRE(lens.cells.size() == 3);
    REQUIRE(lens.cells.back().size() == 1);
    std::vector<double> logits = numbers(bert.array("activations", "logits"));
    const double log_sum = std::log(std::exp(logits[0]) + std::exp(logits[1]) + std::exp(logits[2]));
    const probe::TokenProbability& best = lens.cells.back().front().top.front();
    CHECK(best.log_prob == doctest::Approx(logits[static_cast<std::size_t>(best.token)] - log_sum).epsilon(1e-5));
  }
}
