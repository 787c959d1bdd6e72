// Wraps text to lines of a width. Breaks, truncation and justification are those of rich 15 (Keras's table printer).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::report {

enum class Justify { none, left, right, center };
/// Treatment of a word that is wider than the line.
enum class Overflow {
  fold,     ///< continues in the next line
  ellipsis  ///< is cut and ends in "…"
};

/// Returns lines of at most `width` cells, broken at spaces; of exactly `width` cells if justified. A width below 1
/// gives no lines.
[[nodiscard]] std::vector<std::u32string> wrap(std::u32string_view text, int width, Justify justify, Overflow overflow);

/// Returns the width in cells of the widest word, which is the smallest width without folding or an ellipsis.
[[nodiscard]] int widest_word(std::u32string_view text);

}  // namespace attn::report
