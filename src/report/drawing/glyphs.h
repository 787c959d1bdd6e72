// A bitmap font for images.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn::report {

/// A letter of a monospaced font of 24 pixels; lengths are pixels.
struct Glyph {
  char32_t point;
  int left, top;  ///< offset of the letter's box from the pen and the baseline
  int width, height;
  std::string_view runs;
};

inline constexpr int kGlyphSize = 24;           ///< height of the font
inline constexpr double kGlyphAdvance = 14.45;  ///< distance between letters in pixels

/// Returns the letter; null for a space, and for characters other than ASCII, Latin-1 and the ellipsis.
[[nodiscard]] const Glyph* glyph_of(char32_t point);

/// Returns the opacity of each pixel, 0 to 15, row by row.
[[nodiscard]] std::vector<std::uint8_t> shades_of(const Glyph& glyph);

}  // namespace attn::report
