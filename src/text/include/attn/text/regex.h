// Regular expressions of PCRE2, with limits on the work of a match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

struct pcre2_real_code_8;

namespace attn::text {

/// An invalid expression, or a match that needs too many steps or too much memory; what() is the reason. Callers add
/// the place and the expression.
class RegexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Characters are Unicode's, and `.` matches everything except a newline, as in Python.
class Regex {
 public:
  enum class Subject : std::uint8_t { any_bytes, valid_utf8 };
  /// A range of a text: its first byte, and the first byte after it.
  using Match = std::pair<std::size_t, std::size_t>;

  /// Throws RegexError if `expression` is invalid or longer than 32 KiB.
  Regex(std::string_view expression, Subject subject);

  /// Returns whether `text` begins with a match (Python's re.match). Throws RegexError after a million backtracking
  /// steps, or two for each byte of the text.
  [[nodiscard]] bool matches_start(std::string_view text) const { return match(text, 0, true).has_value(); }
  /// Returns the first match at or after `from`. Throws RegexError under the same limits.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from) const {
    return match(text, from, false);
  }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  [[nodiscard]] std::optional<Match> match(std::string_view text, std::size_t from, bool anchored) const;

  Subject subject_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace attn::text
