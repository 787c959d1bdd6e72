// Text into lines of a width, as rich 15 (Keras's table printer) breaks, cuts and justifies them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::report {

enum class Justify { none, left, right, center };
/// What becomes of a word that is wider than the line.
enum class Overflow {
  fold,     ///< it goes on in the next line
  ellipsis  ///< it ends in "…"
};

/// Lines of at most `width` cells, broken at blanks; exactly `width` cells where they are justified. A width below 1
/// has no lines.
[[nodiscard]] std::vector<std::u32string> wrap(std::u32string_view text, int width, Justify justify, Overflow overflow);

/// Cells of the widest word: the width that needs no fold and no ellipsis.
[[nodiscard]] int widest_word(std::u32string_view text);

}  // namespace attn::report
