#include "whisper_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::transcribe {
namespace {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

/// Excludes the ids from `begin` up to `end`; ids beyond the vocabulary are ignored.
void exclude(std::span<float> logits, Id begin, Id end) {
  const auto most = static_cast<Id>(logits.size());
  for (Id id = std::max<Id>(begin, 0); id < std::min(end, most); ++id) logits[static_cast<std::size_t>(id)] = kExcluded;
}

/// Returns ln Σ exp(x); -inf for nothing.
double log_sum(std::span<const float> x) {
  const float largest = x.empty() ? kExcluded : *std::ranges::max_element(x);
  if (!std::isfinite(largest)) return static_cast<double>(largest);
  double sum = 0.0;
  for (const float value : x) sum += std::exp(static_cast<double>(value - largest));
  return static_cast<double>(largest) + std::log(sum);
}

}  // namespace

void WhisperRules::apply(std::span<const Id> given, std::span<float> logits) const {
  const std::span<const Id> chosen = given.subspan(std::min(prompt_, given.size()));
  if (chosen.empty())
    for (const Id id : tokens_.suppressed_at_begin) exclude(logits, id, id + 1);
  for (const Id id : tokens_.suppressed) exclude(logits, id, id + 1);
  if (timestamps_) apply_timestamps(chosen, logits);
}

void WhisperRules::apply_timestamps(std::span<const Id> chosen, std::span<float> logits) const {
  const Id first = tokens_.first_timestamp(), all = static_cast<Id>(logits.size());
  exclude(logits, tokens_.no_timestamps, tokens_.no_timestamps + 1);
  // Timestamps come in pairs, except at the end of the text.
  const auto is_time = [&](std::size_t from_end) { return chosen[chosen.size() - from_end] >= first; };
  const bool last = !chosen.empty() && is_time(1), before = chosen.size() < 2 || is_time(2);
  if (last && before) exclude(logits, first, all);
  if (last && !before) exclude(logits, 0, tokens_.end);
  const auto latest = std::ranges::find_if(chosen.rbegin(), chosen.rend(), [&](Id id) { return id >= first; });
  if (latest != chosen.rend()) exclude(logits, first, last && !before ? *latest : *latest + 1);
  if (chosen.empty()) {
    exclude(logits, 0, first);
    if (tokens_.most_initial) exclude(logits, first + *tokens_.most_initial + 1, all);
  }
  // A timestamp follows if all of them together are more probable than any other token.
  if (first >= all) return;
  const std::span<const float> words = logits.first(static_cast<std::size_t>(first));
  const double times = log_sum(logits.subspan(static_cast<std::size_t>(first)));
  if (times > static_cast<double>(*std::ranges::max_element(words))) exclude(logits, 0, first);
}

}  // namespace attn::transcribe
