// Regular expressions of tokenizer files, by PCRE2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;

namespace attn::tokenizers {

/// What a file's {"Regex": …} or {"String": …} finds in a text.
class Pattern {
 public:
  /// A part of a text: its first byte, and the first behind it.
  using Found = std::pair<std::size_t, std::size_t>;

  /// Finds `text` itself.
  [[nodiscard]] static Pattern literal(std::string text);
  /// `expression` is of Oniguruma's syntax, in which Hugging Face's files are written. `place` is the file for
  /// messages. Throws Error (bad_input) where it is none, or of over 4096 bytes.
  [[nodiscard]] static Pattern regex(std::string expression, std::string place);

  /// The first match at or after `from` in valid UTF-8. Throws Error (bad_input) where a match takes more than a
  /// million steps back, which no expression does that is made for words.
  [[nodiscard]] std::optional<Found> find(std::string_view text, std::size_t from) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] bool is_regex() const noexcept { return code_ != nullptr; }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
    void operator()(pcre2_real_match_context_8* context) const;
  };
  Pattern() = default;

  std::string text_;
  std::string place_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
};

/// What finding all of an expression's matches in a text may take: each may be quick, and look through the whole text.
class MatchBudget {
 public:
  /// `pattern` outlives it.
  MatchBudget(const Pattern& pattern, std::string_view text) : pattern_(pattern), bytes_(text.size()) {}

  /// Behind each match. Throws Error (bad_input) where they have taken more of the processor's time than any expression
  /// does that is made for words, by far.
  void spend() {
    constexpr std::uint32_t kSeldom = 64;  // as asking for the time takes some, too
    if (++matches_ % kSeldom == 0 && pattern_.is_regex()) check();
  }

 private:
  void check();

  const Pattern& pattern_;
  std::size_t bytes_;
  std::uint32_t matches_ = 0;
  std::optional<double> started_;  // seconds of this thread, at the first look
};

}  // namespace attn::tokenizers
