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
  /// million steps back, or two for each byte of the text, which no expression does that is made for words.
  [[nodiscard]] std::optional<Found> find(std::string_view text, std::size_t from) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] bool is_regex() const noexcept { return code_ != nullptr; }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  Pattern() = default;

  std::string text_;
  std::string place_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace attn::tokenizers
