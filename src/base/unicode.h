// Code points: decoding, and the few properties that printing needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace attn {

struct Decoded {
  std::optional<char32_t> point;  ///< nothing: the byte at the front does not begin a valid sequence
  std::size_t length;             ///< bytes to go on by
};

/// The code point at the front of `text`, which must not be empty. Surrogates, overlong forms and what lies beyond
/// U+10FFFF are not valid.
[[nodiscard]] Decoded decode(std::string_view text) noexcept;

/// C0, DEL, C1.
[[nodiscard]] constexpr bool is_control(char32_t point) noexcept {
  return point < 0x20 || (point >= 0x7f && point < 0xa0);
}
/// Not seen in print, or able to change how the text around it is seen.
[[nodiscard]] bool is_hidden(char32_t point) noexcept;

/// Does Python's repr of a str show it as it is?
[[nodiscard]] bool is_python_printable(char32_t point) noexcept;

/// Terminal cells: 0, 1 or 2.
[[nodiscard]] int cells(char32_t point) noexcept;

}  // namespace attn
