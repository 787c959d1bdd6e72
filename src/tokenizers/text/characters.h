// Code points: UTF-8 decoding and encoding, character classes, normal forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pipeline/rule_limit.h"

namespace attn::tokenizers {

/// Returns the length in bytes of the UTF-8 sequence that begins with this byte; 1 if it begins none.
[[nodiscard]] constexpr std::size_t length_of(char first) noexcept {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/// Returns the code point at `at` in valid UTF-8; advances `at` to the next.
[[nodiscard]] inline char32_t next_point(std::string_view text, std::size_t& at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t from = at;
  at += length_of(text[from]);
  switch (at - from) {
    case 1:
      return byte(from);
    case 2:
      return (byte(from) & 0x1f) << 6 | (byte(from + 1) & 0x3f);
    case 3:
      return (byte(from) & 0xf) << 12 | (byte(from + 1) & 0x3f) << 6 | (byte(from + 2) & 0x3f);
    default:
      return (byte(from) & 7) << 18 | (byte(from + 1) & 0x3f) << 12 | (byte(from + 2) & 0x3f) << 6 |
             (byte(from + 3) & 0x3f);
  }
}

/// Returns the beginning of the code point before `at`, which is not 0.
[[nodiscard]] inline std::size_t point_before(std::string_view text, std::size_t at) noexcept {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

void append(std::string& text, char32_t point);

/// Unicode's White_Space: Rust's is_whitespace, and `\s` in the patterns of tokenizers.
[[nodiscard]] bool is_white_space(char32_t point) noexcept;
[[nodiscard]] bool is_letter(char32_t point) noexcept;       ///< \p{L}
[[nodiscard]] bool is_number(char32_t point) noexcept;       ///< \p{N}
[[nodiscard]] bool is_punctuation(char32_t point) noexcept;  ///< \p{P}
[[nodiscard]] bool is_mark(char32_t point) noexcept;         ///< \p{M}
[[nodiscard]] bool is_nonspacing(char32_t point) noexcept;   ///< \p{Mn}
[[nodiscard]] bool is_control(char32_t point) noexcept;      ///< \p{Cc}
[[nodiscard]] bool is_format(char32_t point) noexcept;       ///< \p{Cf}
[[nodiscard]] bool is_private(char32_t point) noexcept;      ///< \p{Co}
/// `\w`: letters, marks, decimal numbers and connectors.
[[nodiscard]] bool is_word(char32_t point) noexcept;

/// Returns whether it is a printable ASCII character other than a letter, a digit and the space. BERT's tokenizers
/// treat these as punctuation, in addition to \p{P}.
[[nodiscard]] constexpr bool is_ascii_symbol(char32_t point) noexcept {
  return (point >= 0x21 && point <= 0x2f) || (point >= 0x3a && point <= 0x40) || (point >= 0x5b && point <= 0x60) ||
         (point >= 0x7b && point <= 0x7e);
}
/// Ideographs that BERT's tokenizers treat as single words; the blocks are those of google-research/bert's
/// tokenization.py.
[[nodiscard]] constexpr bool is_ideograph(char32_t point) noexcept {
  return (point >= 0x4e00 && point <= 0x9fff) || (point >= 0x3400 && point <= 0x4dbf) ||
         (point >= 0x20000 && point <= 0x2a6df) || (point >= 0x2a700 && point <= 0x2b73f) ||
         (point >= 0x2b740 && point <= 0x2b81f) || (point >= 0x2b820 && point <= 0x2ceaf) ||
         (point >= 0xf900 && point <= 0xfaff) || (point >= 0x2f800 && point <= 0x2fa1f);
}

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// Returns `text` in a Unicode normal form. The time is linear in the text, except that runs of combining marks are
/// sorted.
[[nodiscard]] std::string normalized(std::string_view text, NormalForm form, const RuleLimit& limit);
/// Lowercases every code point on its own, like Rust's char::to_lowercase. There is no context, so a final sigma
/// becomes σ.
[[nodiscard]] std::string lower_case(std::string_view text);
/// Full case folding of Unicode: Python's str.casefold.
[[nodiscard]] std::string case_folded(std::string_view text);
/// Removes the code points for which `is` returns true.
template <typename Is>
[[nodiscard]] std::string without(std::string_view text, Is&& is) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    if (!is(next_point(text, at))) out += text.substr(from, at - from);
  }
  return out;
}

}  // namespace attn::tokenizers
