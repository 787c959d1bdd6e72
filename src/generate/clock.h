// Times and token counts of a generation.
#pragma once

#include <span>

#include "attn/base/stopwatch.h"
#include "attn/generate/request.h"

namespace attn::generate {

class Clock {
 public:
  void prompt_is_read(Dim tokens) {
    stats_.prompt_tokens = tokens;
    stats_.prompt_seconds = watch_.lap();
  }
  void step_is_done() {
    stats_.steps.push_back(watch_.lap());
    stats_.step_seconds += stats_.steps.back();
  }
  [[nodiscard]] Stats stats(std::span<const Sequence> sequences) {
    for (const Sequence& sequence : sequences)
      stats_.new_tokens += static_cast<Dim>(sequence.token_ids.size()) - sequence.prompt_length;
    return stats_;
  }

 private:
  Stopwatch watch_;
  Stats stats_;
};

}  // namespace attn::generate
