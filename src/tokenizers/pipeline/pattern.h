// The patterns of tokenizer files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "attn/text/regex.h"

namespace attn::tokenizers {

/// The pattern of a file's {"Regex": …} or {"String": …}.
class Pattern {
 public:
  using Match = text::Regex::Match;

  /// Matches `text` literally.
  [[nodiscard]] static Pattern literal(std::string text);
  /// `expression` has the syntax of Oniguruma, as in Hugging Face's files. `place` is the file for messages. Throws
  /// Error (bad_input) if it is invalid or has more than 4096 bytes.
  [[nodiscard]] static Pattern regex(std::string expression, std::string place);

  /// Returns the first match at or after `from` in valid UTF-8. Throws Error (bad_input) if a match needs more than a
  /// million backtracking steps, or two for each byte of the text. No expression for splitting words needs as many.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] bool is_regex() const noexcept { return regex_.has_value(); }

 private:
  Pattern() = default;

  std::string text_;
  std::string place_;
  std::optional<text::Regex> regex_;
};

}  // namespace attn::tokenizers
