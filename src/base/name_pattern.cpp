#include "attn/base/name_pattern.h"

#include <algorithm>

namespace attn {

bool matches(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0;
  // The position of the last "*", and its current reach: only that one is ever widened, which is enough.
  std::size_t star = std::string_view::npos, reached = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      reached = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++reached;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(name, pattern); });
}

}  // namespace attn
