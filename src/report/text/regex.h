// Python's regular expressions, implemented with PCRE2, whose syntax is similar and which limits the work of a match.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace attn::report {

class Regex {
 public:
  /// Throws Error (usage) if `pattern` is invalid; `place` is its origin for messages.
  Regex(std::string_view place, std::string pattern);

  /// Returns whether the pattern matches at the beginning of `text` (Python's re.match). Throws Error (usage) if that
  /// needs too many steps or too much memory, which requires a pattern with nested repetitions.
  [[nodiscard]] bool matches_start(std::string_view text) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };

  std::string place_;
  std::string pattern_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace attn::report
