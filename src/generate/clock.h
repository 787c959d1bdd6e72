// Times and token counts of a generation.
#pragma once

#include <chrono>
#include <span>

#include "attn/generate/request.h"

namespace attn::generate {

class Clock {
 public:
  void prompt_is_read(Dim tokens) {
    stats_.prompt_tokens = tokens;
    stats_.prompt_seconds = since_last();
  }
  void step_is_done() {
    stats_.steps.push_back(since_last());
    stats_.step_seconds += stats_.steps.back();
  }
  [[nodiscard]] Stats stats(std::span<const Sequence> sequences) {
    for (const Sequence& sequence : sequences)
      stats_.new_tokens += static_cast<Dim>(sequence.token_ids.size()) - sequence.prompt_length;
    return stats_;
  }

 private:
  double since_last() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  Stats stats_;
};

}  // namespace attn::generate
