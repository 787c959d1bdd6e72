// Measures and cuts text in terminal cells, like rich 15 (Keras's table printer).
//
// Text is a string of code points. It has passed `printable`, so it is valid Unicode without controls and without
// zero-width joiners.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::report {

/// Returns the code points of valid UTF-8.
[[nodiscard]] std::u32string code_points(std::string_view utf8);
[[nodiscard]] std::string utf8(std::u32string_view text);

/// Returns the width of a text in cells: 0 for combining marks, 2 for wide characters, otherwise 1. An emoji variation
/// selector widens the narrow emoji before it.
[[nodiscard]] int cell_width(std::u32string_view text);

/// Pads with spaces or cuts to exactly `total` cells; half of a wide character becomes a space.
[[nodiscard]] std::u32string set_cell_width(std::u32string_view text, int total);

/// Splits into chunks of at most `width` cells; with a width of 1, a wide character stays whole.
[[nodiscard]] std::vector<std::u32string_view> chop(std::u32string_view text, int width);

}  // namespace attn::report
