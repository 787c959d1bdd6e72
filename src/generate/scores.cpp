#include "scores.h"

#include <algorithm>
#include <limits>

#include "attn/base/error.h"
#include "probabilities.h"

namespace attn::generate {

void keep_scores(const Request& request, std::span<const float> logits, Token chosen, Sequence& sequence) {
  if (request.keep_logits) sequence.logits.emplace_back(logits.begin(), logits.end());
  if (!request.scores && request.most_likely == 0) return;
  StepScores step{{chosen, log_probability(logits, chosen)}, {}};
  for (const std::int64_t token : top_sorted(logits, static_cast<std::int64_t>(request.most_likely)))
    step.most_likely.push_back({static_cast<Token>(token), log_probability(logits, static_cast<Token>(token))});
  sequence.scores.push_back(std::move(step));
}

std::span<const float> logits_of(const DecoderOutput& ahead, Dim row, Dim position) {
  const Dim size = ahead.logits.shape().back();
  const std::span<const float> all = ahead.logits.as<float>();
  const auto logits = all.subspan(static_cast<std::size_t>(row * size), static_cast<std::size_t>(size));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool numbers = true, some = false;
  for (const float x : logits) {
    numbers &= x < kInfinity;  // false for NaN too
    some |= x > -kInfinity;
  }
  if (!numbers || !some) throw bad_input("the logits for position {} are NaN or infinite", position);
  return logits;
}

}  // namespace attn::generate
