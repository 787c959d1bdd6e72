// Code points: decoding, and the properties that printing needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace attn {

struct Decoded {
  std::optional<char32_t> point;  ///< nothing: the byte at the front does not begin a valid sequence
  std::size_t length;             ///< bytes to advance
};

/// Decodes the code point at the front of `text`, which must not be empty. Surrogates, overlong forms and code points
/// above U+10FFFF are invalid.
[[nodiscard]] Decoded decode(std::string_view text) noexcept;

/// Returns whether the code point is C0, DEL or C1.
[[nodiscard]] constexpr bool is_control(char32_t point) noexcept {
  return point < 0x20 || (point >= 0x7f && point < 0xa0);
}
/// Returns whether it is invisible, or changes how the text around it is displayed.
[[nodiscard]] bool is_hidden(char32_t point) noexcept;

/// Returns whether Python's repr of a str shows it unescaped.
[[nodiscard]] bool is_python_printable(char32_t point) noexcept;

/// Returns the terminal cells: 0, 1 or 2.
[[nodiscard]] int cells(char32_t point) noexcept;

}  // namespace attn
