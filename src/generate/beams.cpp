#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/base/stop.h"
#include "clock.h"
#include "loops.h"
#include "probabilities.h"
#include "scores.h"
#include "sources.h"

namespace attn::generate {
namespace {

/// The beams of all sequences; those of one sequence are adjacent.
class Beams {
 public:
  Beams(const Request& request, const Prompts& prompts)
      : request_(request), prompts_(prompts), count_(request.sampler.num_beams) {
    for (std::size_t i = 0; i < prompts.count(); ++i) {
      for (Dim beam = 0; beam < count_; ++beam) {
        tokens_.push_back(prompts.begin_of(i));
        scores_.push_back(beam == 0 ? 0.0F : kUnlikely);
        kept_.emplace_back();
      }
    }
  }

  [[nodiscard]] Dim rows() const { return static_cast<Dim>(tokens_.size()); }
  [[nodiscard]] Dim count() const { return count_; }
  [[nodiscard]] std::vector<Token> last() const {
    std::vector<Token> last;
    for (const auto& tokens : tokens_) last.push_back(tokens.back());
    return last;
  }

  /// Returns whether every beam has a stop token after its prompt, or has reached its maximum length.
  [[nodiscard]] bool all_ended(Dim position) const {
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
      const std::size_t sequence = row / static_cast<std::size_t>(count_);
      if (prompts_.cut(sequence, tokens_[row]).finish != Finish::stop && position < prompts_.end_of(sequence))
        return false;
    }
    return true;
  }

  /// Continues with the best pairs of beam and token, by the logits of each beam. Returns the parent beam of each row.
  std::vector<Dim> step(const std::vector<std::span<const float>>& logits, Dim position) {
    std::vector<std::vector<Token>> tokens;
    std::vector<float> scores;
    std::vector<Sequence> kept;
    std::vector<Dim> parents;
    for (std::size_t sequence = 0; sequence < prompts_.count(); ++sequence) {
      const Dim first = static_cast<Dim>(sequence) * count_;
      std::vector<float> pairs;  // score of a beam that continues with a token: [beam][token]
      for (Dim beam = first; beam < first + count_; ++beam) {
        const std::size_t row = static_cast<std::size_t>(beam);
        for (const float p : probabilities(logits[row], request_.sampler.temperature))
          pairs.push_back(std::log(p) + scores_[row]);
      }
      const auto size = static_cast<std::int64_t>(logits[0].size());
      for (const std::int64_t pair : top_unsorted(pairs, count_)) {
        const Dim parent = first + pair / size;
        const auto from = static_cast<std::size_t>(parent);
        const Token token = prompts_.forced(sequence, position, static_cast<Token>(pair % size));
        parents.push_back(parent);
        scores.push_back(pairs[static_cast<std::size_t>(pair)]);
        tokens.push_back(tokens_[from]);
        tokens.back().push_back(token);
        kept.push_back(kept_[from]);
        if (position >= prompts_.length(sequence)) keep_scores(request_, logits[from], token, kept.back());
      }
    }
    tokens_ = std::move(tokens);
    scores_ = std::move(scores);
    kept_ = std::move(kept);
    return parents;
  }

  /// Returns the best beam of each sequence, together with all its beams.
  [[nodiscard]] std::vector<Sequence> results() const {
    std::vector<Sequence> out;
    for (std::size_t sequence = 0; sequence < prompts_.count(); ++sequence) {
      std::vector<std::size_t> order(static_cast<std::size_t>(count_));
      std::iota(order.begin(), order.end(), sequence * order.size());
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores_[a] > scores_[b]; });
      Sequence best = prompts_.cut(sequence, tokens_[order[0]]);
      const std::size_t added = best.token_ids.size() - static_cast<std::size_t>(best.prompt_length);
      const Sequence& kept = kept_[order[0]];
      best.scores.assign(
          kept.scores.begin(),
          kept.scores.begin() + std::min<std::ptrdiff_t>(std::ssize(kept.scores), static_cast<std::ptrdiff_t>(added)));
      best.logits.assign(
          kept.logits.begin(),
          kept.logits.begin() + std::min<std::ptrdiff_t>(std::ssize(kept.logits), static_cast<std::ptrdiff_t>(added)));
      for (const std::size_t row : order)
        best.beams.push_back({prompts_.cut(sequence, tokens_[row]).token_ids, scores_[row]});
      out.push_back(std::move(best));
    }
    return out;
  }

 private:
  static constexpr float kUnlikely = -1e9F;

  const Request& request_;
  const Prompts& prompts_;
  Dim count_;
  std::vector<std::vector<Token>> tokens_;  // for each row
  std::vector<float> scores_;               // for each row, Σ log p of its tokens
  std::vector<Sequence> kept_;              // for each row, the scores of keep_scores
};

}  // namespace

Generated search_beams(Decoder& decoder, const Request& request, const Prompts& prompts) {
  Clock clock;
  Beams beams(request, prompts);
  Sources sources(beams.rows(), beams.count(), prompts.first());
  for (Dim position = prompts.first(); position < prompts.end() && !beams.all_ended(position); ++position) {
    throw_if_stopped();
    std::vector<std::span<const float>> logits;
    if (position == prompts.first()) {
      const std::vector<Token> given = prompts.begins();
      const auto count = static_cast<Dim>(prompts.count());
      const DecoderOutput ahead = decoder.advance({given, count, position, 0, {}, false});
      clock.prompt_is_read(count * position);
      for (Dim row = 0; row < beams.rows(); ++row) logits.push_back(logits_of(ahead, row / beams.count(), position));
      sources.follow(beams.step(logits, position), position);
    } else {
      const std::vector<Token> given = beams.last();
      const DecoderOutput ahead =
          decoder.advance({given, beams.rows(), 1, position - 1, sources.before(position - 1), false});
      for (Dim row = 0; row < beams.rows(); ++row) logits.push_back(logits_of(ahead, row, position));
      sources.follow(beams.step(logits, position), position);
    }
    clock.step_is_done();
  }
  Generated out;
  out.sequences = beams.results();
  out.stats = clock.stats(out.sequences);
  return out;
}

}  // namespace attn::generate
