#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/generate/generate.h"
#include "clock.h"
#include "loops.h"
#include "probabilities.h"
#include "scores.h"
#include "sources.h"

namespace attn::generate {
namespace {

using HiddenState = std::vector<float>;

/// Returns the hidden state of one row and position.
HiddenState hidden_of(const DecoderOutput& ahead, Dim row, Dim position) {
  if (ahead.hidden.data() == nullptr) throw internal_error("the decoder gave no hidden states");
  const Dim count = ahead.hidden.shape()[1], size = ahead.hidden.shape()[2];
  const auto all = ahead.hidden.as<float>().subspan(static_cast<std::size_t>((row * count + position) * size));
  return {all.begin(), all.begin() + size};
}

double cosine(const HiddenState& x, const HiddenState& y) {
  double product = 0.0, of_x = 0.0, of_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    product += static_cast<double>(x[i]) * y[i];
    of_x += static_cast<double>(x[i]) * x[i];
    of_y += static_cast<double>(y[i]) * y[i];
  }
  return product / (std::sqrt(of_x) * std::sqrt(of_y));
}

/// One sequence, with the logits for its next token and the hidden states of all its positions.
struct ContrastiveRow {
  std::vector<Token> tokens;
  std::vector<float> logits;
  std::vector<HiddenState> hidden;  // hidden state of each position
  Sequence kept;                    // the scores of keep_scores
};

/// Returns the largest cosine similarity of a candidate to an earlier position; −1 if there is none.
double similarity(const ContrastiveRow& row, const HiddenState& candidate) {
  double most = -1.0;
  for (const HiddenState& before : row.hidden) most = std::max(most, cosine(before, candidate));
  return most;
}

}  // namespace

Generated search_contrastive(Decoder& decoder, const Request& request, const Prompts& prompts) {
  Clock clock;
  const Dim k = branches_of(request.sampler), count = static_cast<Dim>(prompts.count());
  std::vector<ContrastiveRow> rows(prompts.count());
  Sources sources(count * k, k, prompts.first());
  const auto all_ended = [&](Dim position) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (prompts.cut(i, rows[i].tokens).finish != Finish::stop && position < prompts.end_of(i)) return false;
    return true;
  };

  if (prompts.first() < prompts.end()) {
    const std::vector<Token> given = prompts.begins();
    const DecoderOutput ahead = decoder.advance({given, count, prompts.first(), 0, {}, false});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto logits = logits_of(ahead, static_cast<Dim>(i), prompts.first());
      rows[i].logits.assign(logits.begin(), logits.end());
      for (Dim p = 0; p < prompts.first(); ++p) rows[i].hidden.push_back(hidden_of(ahead, static_cast<Dim>(i), p));
    }
    clock.prompt_is_read(count * prompts.first());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].tokens = prompts.begin_of(i);

  std::vector<Dim> itself(static_cast<std::size_t>(count * k));
  std::iota(itself.begin(), itself.end(), 0);
  sources.follow(itself, prompts.first());
  for (Dim position = prompts.first(); position < prompts.end() && !all_ended(position); ++position) {
    throw_if_stopped();
    std::vector<Token> candidates;
    std::vector<double> likely;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<float> p = probabilities(rows[i].logits, request.sampler.temperature);
      for (const std::int64_t token : top_unsorted(p, k)) {
        candidates.push_back(prompts.forced(i, position, static_cast<Token>(token)));
        likely.push_back(p[static_cast<std::size_t>(token)]);
      }
    }
    const DecoderOutput ahead = decoder.advance({candidates, count * k, 1, position, sources.before(position), false});
    std::vector<Dim> parents;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ContrastiveRow& row = rows[i];
      Dim best = 0;
      double best_score = 0.0;
      for (Dim c = 0; c < k; ++c) {
        const Dim candidate = static_cast<Dim>(i) * k + c;
        const double score = (1.0 - request.sampler.alpha) * likely[static_cast<std::size_t>(candidate)] -
                             request.sampler.alpha * similarity(row, hidden_of(ahead, candidate, 0));
        if (c == 0 || score > best_score) {
          best = candidate;
          best_score = score;
        }
      }
      const Token token = candidates[static_cast<std::size_t>(best)];
      if (position >= prompts.length(i)) keep_scores(request, row.logits, token, row.kept);
      row.tokens.push_back(token);
      row.hidden.push_back(hidden_of(ahead, best, 0));
      const auto logits = logits_of(ahead, best, position + 1);
      row.logits.assign(logits.begin(), logits.end());
      parents.insert(parents.end(), static_cast<std::size_t>(k), best);
    }
    // All candidate rows of a sequence continue from its best candidate. They read the cache entry that the best
    // candidate wrote at this position, and each writes its own entry at the next position.
    sources.follow(parents, position + 1);
    clock.step_is_done();
  }

  Generated out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Sequence sequence = prompts.cut(i, rows[i].tokens);
    const auto added = static_cast<std::ptrdiff_t>(sequence.token_ids.size()) - sequence.prompt_length;
    rows[i].kept.scores.resize(
        static_cast<std::size_t>(std::min<std::ptrdiff_t>(added, std::ssize(rows[i].kept.scores))));
    rows[i].kept.logits.resize(
        static_cast<std::size_t>(std::min<std::ptrdiff_t>(added, std::ssize(rows[i].kept.logits))));
    sequence.scores = std::move(rows[i].kept.scores);
    sequence.logits = std::move(rows[i].kept.logits);
    out.sequences.push_back(std::move(sequence));
  }
  out.stats = clock.stats(out.sequences);
  return out;
}

}  // namespace attn::generate
