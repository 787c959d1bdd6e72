#include "segments.h"

#include <algorithm>

namespace attn::transcribe {

Parts split(std::span<const Id> tokens, const WhisperTokens& special, Id steps) {
  const Id first = special.first_timestamp();
  const auto step_of = [&](std::size_t at) { return std::min(tokens[at] - first, steps); };
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
    out.parts.push_back({0, end, {tokens.begin(), tokens.end()}});
    out.next = steps;
    return out;
  }
  if (ends_alone) ends.push_back(count);
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    out.parts.push_back(
        {step_of(from),
         step_of(end - 1),
         {tokens.begin() + static_cast<std::ptrdiff_t>(from), tokens.begin() + static_cast<std::ptrdiff_t>(end)}});
    from = end;
  }
  out.next = ends_alone ? steps : step_of(ends.back() - 2);
  return out;
}

}  // namespace attn::transcribe
