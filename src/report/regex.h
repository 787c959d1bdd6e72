// Python's regular expressions, by PCRE2, which is nearest to them and bounds what a match takes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace attn::report {

class Regex {
 public:
  /// Throws Error (usage) where `pattern` is none; `place` is where it was given.
  Regex(std::string_view place, std::string pattern);

  /// Does the pattern match at the beginning of `text` (Python's re.match)? Throws Error (usage) where that takes too
  /// many steps or too much memory, which no text does to a pattern without nested repetitions.
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
