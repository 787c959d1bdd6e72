// Terminal cells of text, counted and cut as rich 15 (Keras's table printer) does.
//
// Text is held as code points. It has passed `printable`, so it is valid Unicode without controls and without
// zero-width joiners.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::report {

/// The code points of valid UTF-8.
[[nodiscard]] std::u32string code_points(std::string_view utf8);
[[nodiscard]] std::string utf8(std::u32string_view text);

/// Cells of a text: 0 for combining marks, 2 for wide characters, else 1; an emoji variation selector widens the
/// narrow emoji before it.
[[nodiscard]] int cell_width(std::u32string_view text);

/// Exactly `total` cells: padded with blanks, or cut, where half of a wide character becomes a blank.
[[nodiscard]] std::u32string set_cell_width(std::u32string_view text, int total);

/// Pieces of at most `width` cells; a wide character in a width of 1 stays whole.
[[nodiscard]] std::vector<std::u32string_view> chop(std::u32string_view text, int width);

}  // namespace attn::report
