#include <algorithm>

#include "attn/base/stop.h"
#include "clock.h"
#include "loops.h"
#include "scores.h"
#include "token_sampler.h"

namespace attn::generate {
namespace {

/// A sequence while it grows.
struct Row {
  Sequence sequence;
  bool ended = false;
  Token last = 0;  ///< the token to read next; ended sequences also consume random numbers
};

}  // namespace

Generated sample(Decoder& decoder, const Request& request, const Prompts& prompts) {
  std::vector<Row> rows(prompts.count());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].sequence.token_ids = prompts.begin_of(i);
    rows[i].sequence.prompt_length = prompts.length(i);
    rows[i].ended = prompts.end_of(i) == prompts.length(i);
  }
  // A prompt that fills its sequence is complete.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].ended) continue;
    for (Dim p = prompts.first(); p < prompts.length(i); ++p)
      rows[i].sequence.token_ids.push_back(prompts.forced(i, p, 0));
  }

  Clock clock;
  TokenSampler sampler(request.sampler);
  const auto count = static_cast<Dim>(rows.size());
  DecoderOutput ahead;
  for (Dim position = prompts.first(); position < prompts.end(); ++position) {
    if (std::ranges::all_of(rows, &Row::ended)) break;
    throw_if_stopped();
    const bool is_first = position == prompts.first();
    std::vector<Token> given = is_first ? prompts.begins() : std::vector<Token>();
    if (!is_first)
      for (const Row& row : rows) given.push_back(row.last);
    ahead = decoder.advance({given, count, is_first ? position : 1, is_first ? 0 : position - 1, {}, false});
    if (is_first) clock.prompt_is_read(count * position);
    std::vector<std::span<const float>> logits;
    for (Dim row = 0; row < count; ++row) logits.push_back(logits_of(ahead, row, position));
    const std::vector<Token> chosen = sampler.choose(logits);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      row.last = prompts.forced(i, position, chosen[i]);
      if (row.ended) continue;
      row.sequence.token_ids.push_back(row.last);
      if (position < prompts.length(i)) continue;
      keep_scores(request, logits[i], row.last, row.sequence);
      const bool enough = request.on_token && request.on_token(i, row.last);
      if (prompts.is_stop(row.last)) {
        row.sequence.finish = Finish::stop;
      } else if (enough) {
        row.sequence.finish = Finish::caller;
      }
      row.ended = enough || row.sequence.finish == Finish::stop || position + 1 == prompts.end_of(i);
    }
    clock.step_is_done();
  }

  Generated out;
  for (Row& row : rows) out.sequences.push_back(std::move(row.sequence));
  out.stats = clock.stats(out.sequences);
  return out;
}

}  // namespace attn::generate
