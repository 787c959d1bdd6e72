// The letters of pictures that have no font.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn::report {

/// A letter of a monospaced font of 24 pixels; measures are pixels.
struct Glyph {
  char32_t point;
  int left, top;  ///< of its box, from the pen and from the line that letters stand on
  int width, height;
  std::string_view runs;
};

inline constexpr int kGlyphSize = 24;           ///< of the font
inline constexpr double kGlyphAdvance = 14.45;  ///< from letter to letter

/// ASCII, Latin-1 and the ellipsis; null for others, and for blanks.
[[nodiscard]] const Glyph* glyph_of(char32_t point);

/// How much of each pixel is ink, 0 to 15, row by row.
[[nodiscard]] std::vector<std::uint8_t> shades_of(const Glyph& glyph);

}  // namespace attn::report
