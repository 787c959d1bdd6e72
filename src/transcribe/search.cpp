#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/stop.h"

namespace attn::transcribe {
namespace {

constexpr float kUnlikely = -1e9F;

/// Returns a copy of one row of logits, of the token at `position`.
std::vector<float> copied_logits(const generate::DecoderOutput& ahead, Dim row, Dim position) {
  const std::span<const float> row_of_logits = generate::logits_of(ahead, row, position);
  return {row_of_logits.begin(), row_of_logits.end()};
}

void to_log_probabilities(std::span<float> logits) {
  const float largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x - largest));
  const double log_sum = static_cast<double>(largest) + std::log(sum);
  for (float& x : logits) x = static_cast<float>(static_cast<double>(x) - log_sum);
}

std::vector<Token> search_greedily(generate::Decoder& decoder, const Search& how) {
  std::vector<Token> tokens = how.prompt;
  std::vector<Token> given = how.prompt;
  while (std::ssize(tokens) < how.max_length) {
    throw_if_stopped();
    const Dim position = std::ssize(tokens) - std::ssize(given);
    const generate::DecoderOutput ahead = decoder.advance({given, 1, std::ssize(given), position, {}, false});
    std::vector<float> logits = copied_logits(ahead, 0, std::ssize(tokens));
    if (how.rules) how.rules(tokens, logits);
    given = {static_cast<Token>(std::ranges::max_element(logits) - logits.begin())};
    tokens.push_back(given.front());
    if (given.front() == how.end) break;
  }
  return {tokens.begin() + std::ssize(how.prompt), tokens.end()};
}

struct Beam {
  std::vector<Token> tokens;
  float score = kUnlikely;         ///< Σ ln p; of an ended beam, its mean
  bool ended = false;              ///< whether it ends at the stop token or at the maximum length
  std::vector<std::int32_t> rows;  ///< the row that read each of its tokens, except the last
};

class BeamSearch {
 public:
  BeamSearch(generate::Decoder& decoder, const Search& how)
      : decoder_(decoder), how_(how), count_(static_cast<std::size_t>(how.beams)), open_(count_), ended_(count_) {
    for (Beam& beam : open_) beam.tokens = how.prompt;
    open_.front().score = 0.0F;
  }

  std::vector<Token> run() {
    const Dim prompt = std::ssize(how_.prompt);
    for (Dim position = prompt; position < how_.max_length; ++position) {
      throw_if_stopped();
      const std::vector<Beam> next = continued(position);
      end_some(next, position);
      open_some(next);
      if (std::ranges::all_of(next, &Beam::ended)) break;
      // An open beam can only improve the result if its mean is better than that of the worst ended one.
      const float best = open_.front().score / static_cast<float>(position + 1 - prompt);
      const float worst = std::ranges::all_of(ended_, &Beam::ended) ? ended_.back().score : kUnlikely;
      if (!(best > worst)) break;
    }
    const Beam& best = ended_.front().ended ? ended_.front() : open_.front();
    return {best.tokens.begin() + prompt, best.tokens.end()};
  }

 private:
  /// Returns the scores of every token after each open beam, one beam after the other.
  std::vector<float> scores(Dim position) {
    const Dim prompt = std::ssize(how_.prompt);
    const bool first = position == prompt;
    std::vector<Token> given;
    std::vector<std::int32_t> sources;
    if (first) given = how_.prompt;
    for (std::size_t i = 0; i < count_ && !first; ++i) {
      given.push_back(open_[i].tokens.back());
      sources.insert(sources.end(), open_[i].rows.begin(), open_[i].rows.end());
    }
    const generate::DecoderOutput ahead = first
                                              ? decoder_.advance({given, 1, prompt, 0, {}, false})
                                              : decoder_.advance({given, how_.beams, 1, position - 1, sources, false});
    std::vector<float> out;
    for (std::size_t i = 0; i < count_; ++i) {
      std::vector<float> row = copied_logits(ahead, first ? 0 : static_cast<Dim>(i), position);
      to_log_probabilities(row);
      if (how_.rules) how_.rules(open_[i].tokens, row);
      for (const float x : row) out.push_back(x + open_[i].score);
      // The tokens that were just read have their own row, those of the prompt the first one.
      open_[i].rows.resize(static_cast<std::size_t>(position), first ? 0 : static_cast<std::int32_t>(i));
    }
    return out;
  }

  /// Returns the best continuations, two for each beam.
  std::vector<Beam> continued(Dim position) {
    const std::vector<float> all = scores(position);
    const std::size_t vocabulary = all.size() / count_, most = std::min(2 * count_, all.size());
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                      [&](std::size_t a, std::size_t b) { return all[a] > all[b] || (all[a] == all[b] && a < b); });
    std::vector<Beam> out;
    for (std::size_t i = 0; i < most; ++i) {
      Beam beam = open_[order[i] / vocabulary];
      beam.tokens.push_back(static_cast<Token>(order[i] % vocabulary));
      beam.score = all[order[i]];
      beam.ended = beam.tokens.back() == how_.end || position + 1 == how_.max_length;
      out.push_back(std::move(beam));
    }
    return out;
  }

  /// Takes the best of the ended beams and of those that just ended among the first `count_`.
  void end_some(const std::vector<Beam>& next, Dim position) {
    const auto length = static_cast<float>(position + 1 - std::ssize(how_.prompt));
    for (std::size_t i = 0; i < std::min(count_, next.size()); ++i) {
      if (!next[i].ended) continue;
      ended_.push_back(next[i]);
      ended_.back().score /= length;
    }
    std::ranges::stable_sort(ended_, std::ranges::greater(), &Beam::score);
    ended_.resize(count_);
  }

  void open_some(const std::vector<Beam>& next) {
    std::vector<Beam> all = next;
    for (Beam& beam : all)
      if (beam.ended) beam.score += kUnlikely;
    std::ranges::stable_sort(all, std::ranges::greater(), &Beam::score);
    all.resize(count_, all.back());
    for (Beam& beam : all) beam.ended = false;
    open_ = std::move(all);
  }

  generate::Decoder& decoder_;
  const Search& how_;
  std::size_t count_;
  std::vector<Beam> open_, ended_;  // ended_ has places for beams to come, which are unlikely
};

}  // namespace

std::vector<Token> search(generate::Decoder& decoder, const Search& how) {
  if (how.prompt.empty()) throw internal_error("a search without a prompt");
  if (how.beams == 1) return search_greedily(decoder, how);
  return BeamSearch(decoder, how).run();
}

}  // namespace attn::transcribe
