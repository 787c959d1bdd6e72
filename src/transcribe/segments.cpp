#include "segments.h"

#include <algorithm>

namespace attn::transcribe {

Parts split(std::span<const Id> tokens, const WhisperTokens& special, Id steps) {
  const Id first = special.first_timestamp();
  // The first part begins with the window if the model omits its timestamp.
  const auto step_of = [&](std::size_t at) { return std::clamp<Id>(tokens[at] - first, 0, steps); };
  const auto is_time = [&](std::size_t at) { return tokens[at] >= first; };
  const std::size_t count = tokens.size();
  const bool ends_alone = count >= 2 && is_time(count - 1) && !is_time(count - 2);
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < count; ++i)
    if (is_time(i - 1) && is_time(i)) ends.push_back(i);
  Parts out;
  if (ends.empty()) {
    Id end = steps;
    for (std::size_t i = 0; i < count; ++i)
      if (is_time(i) && tokens[i] != first) end = step_of(i);
    out.parts.push_back({0, end, {tokens.begin(), tokens.end()}, 0});
    out.next = steps;
    return out;
  }
  const std::size_t last = ends.back();
  if (ends_alone) ends.push_back(count);
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    // The last part also has the timestamp that opens an unfinished part.
    const std::size_t most = !ends_alone && end == last ? end + 1 : end;
    const auto part = tokens.subspan(from, most - from);
    out.parts.push_back({step_of(from), step_of(end - 1), {part.begin(), part.end()}, from});
    from = end;
  }
  out.next = ends_alone ? steps : step_of(last - 1);
  return out;
}

}  // namespace attn::transcribe
