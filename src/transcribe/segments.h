// The segments of a window of sound, by the timestamps in its tokens.
#pragma once

#include <span>
#include <vector>

#include "whisper_tokens.h"

namespace attn::transcribe {

/// A part of a window, in steps of timestamps.
struct Part {
  Id start = 0, end = 0;
  std::vector<Id> tokens;
  std::size_t first = 0;  ///< place of the first token among those of the window
};

struct Parts {
  std::vector<Part> parts;
  Id next = 0;  ///< the step at which the next window begins
};

/// Splits the tokens of a window of `steps`, without an end token, as transformers' long-form generation does: between
/// consecutive timestamps. The next window begins at the end of the last part, unless the model ends the window with a
/// single timestamp.
[[nodiscard]] Parts split(std::span<const Id> tokens, const WhisperTokens& special, Id steps);

}  // namespace attn::transcribe
