#include "cells.h"

#include <algorithm>
#include <array>

#include "attn/base/text.h"

namespace attn::report {
namespace {

constexpr char32_t kEmojiVariation = 0xfe0f;

struct Range {
  char32_t first;
  char32_t last;
};

// Characters one cell wide that U+FE0F turns into emoji two cells wide: Unicode 17, emoji-variation-sequences.txt.
// clang-format off
constexpr std::array<Range, 113> kNarrowEmoji{{
    {0x23, 0x23}, {0x2a, 0x2a}, {0x30, 0x39}, {0xa9, 0xa9}, {0xae, 0xae}, {0x203c, 0x203c}, {0x2049, 0x2049},
    {0x2122, 0x2122}, {0x2139, 0x2139}, {0x2194, 0x2199}, {0x21a9, 0x21aa}, {0x2328, 0x2328}, {0x23cf, 0x23cf},
    {0x23ed, 0x23ef}, {0x23f1, 0x23f2}, {0x23f8, 0x23fa}, {0x24c2, 0x24c2}, {0x25aa, 0x25ab}, {0x25b6, 0x25b6},
    {0x25c0, 0x25c0}, {0x25fb, 0x25fc}, {0x2600, 0x2604}, {0x260e, 0x260e}, {0x2611, 0x2611}, {0x2618, 0x2618},
    {0x261d, 0x261d}, {0x2620, 0x2620}, {0x2622, 0x2623}, {0x2626, 0x2626}, {0x262a, 0x262a}, {0x262e, 0x262f},
    {0x2638, 0x263a}, {0x2640, 0x2640}, {0x2642, 0x2642}, {0x265f, 0x2660}, {0x2663, 0x2663}, {0x2665, 0x2666},
    {0x2668, 0x2668}, {0x267b, 0x267b}, {0x267e, 0x267e}, {0x2692, 0x2692}, {0x2694, 0x2697}, {0x2699, 0x2699},
    {0x269b, 0x269c}, {0x26a0, 0x26a0}, {0x26a7, 0x26a7}, {0x26b0, 0x26b1}, {0x26c8, 0x26c8}, {0x26cf, 0x26cf},
    {0x26d1, 0x26d1}, {0x26d3, 0x26d3}, {0x26e9, 0x26e9}, {0x26f0, 0x26f1}, {0x26f4, 0x26f4}, {0x26f7, 0x26f9},
    {0x2702, 0x2702}, {0x2708, 0x2709}, {0x270c, 0x270d}, {0x270f, 0x270f}, {0x2712, 0x2712}, {0x2714, 0x2714},
    {0x2716, 0x2716}, {0x271d, 0x271d}, {0x2721, 0x2721}, {0x2733, 0x2734}, {0x2744, 0x2744}, {0x2747, 0x2747},
    {0x2763, 0x2764}, {0x27a1, 0x27a1}, {0x2934, 0x2935}, {0x2b05, 0x2b07}, {0x1f170, 0x1f171}, {0x1f17e, 0x1f17f},
    {0x1f321, 0x1f321}, {0x1f324, 0x1f32c}, {0x1f336, 0x1f336}, {0x1f37d, 0x1f37d}, {0x1f396, 0x1f397},
    {0x1f399, 0x1f39b}, {0x1f39e, 0x1f39f}, {0x1f3cb, 0x1f3ce}, {0x1f3d4, 0x1f3df}, {0x1f3f3, 0x1f3f3},
    {0x1f3f5, 0x1f3f5}, {0x1f3f7, 0x1f3f7}, {0x1f43f, 0x1f43f}, {0x1f441, 0x1f441}, {0x1f4fd, 0x1f4fd},
    {0x1f549, 0x1f54a}, {0x1f56f, 0x1f570}, {0x1f573, 0x1f579}, {0x1f587, 0x1f587}, {0x1f58a, 0x1f58d},
    {0x1f590, 0x1f590}, {0x1f5a5, 0x1f5a5}, {0x1f5a8, 0x1f5a8}, {0x1f5b1, 0x1f5b2}, {0x1f5bc, 0x1f5bc},
    {0x1f5c2, 0x1f5c4}, {0x1f5d1, 0x1f5d3}, {0x1f5dc, 0x1f5de}, {0x1f5e1, 0x1f5e1}, {0x1f5e3, 0x1f5e3},
    {0x1f5e8, 0x1f5e8}, {0x1f5ef, 0x1f5ef}, {0x1f5f3, 0x1f5f3}, {0x1f5fa, 0x1f5fa}, {0x1f6cb, 0x1f6cb},
    {0x1f6cd, 0x1f6cf}, {0x1f6e0, 0x1f6e5}, {0x1f6e9, 0x1f6e9}, {0x1f6f0, 0x1f6f0}, {0x1f6f3, 0x1f6f3}
}};
// clang-format on

bool is_narrow_emoji(char32_t point) {
  const auto* next = std::upper_bound(kNarrowEmoji.begin(), kNarrowEmoji.end(), point,
                                      [](char32_t value, const Range& range) { return value < range.first; });
  return next != kNarrowEmoji.begin() && point <= (next - 1)->last;
}

int cells_of(char32_t point) {
  if (point >= 0x20 && point < 0x7f) return 1;
  return display_width(utf8({&point, 1}));
}

/// A character with its combining marks.
struct Grapheme {
  std::size_t first;
  std::size_t last;
  int cells;
};

std::vector<Grapheme> graphemes(std::u32string_view text) {
  std::vector<Grapheme> result;
  char32_t measured = 0;  // the last character with a width; 0 after a selector has widened it
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int cells = cells_of(text[i]);
    if (cells > 0) {
      measured = text[i];
      result.push_back({i, i + 1, cells});
      continue;
    }
    if (result.empty()) {
      result.push_back({i, i + 1, 0});
      continue;
    }
    result.back().last = i + 1;
    if (text[i] == kEmojiVariation && is_narrow_emoji(measured)) {
      ++result.back().cells;
      measured = 0;
    }
  }
  return result;
}

}  // namespace

std::u32string code_points(std::string_view utf8) {
  std::u32string result;
  result.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t j = 1; j < length && i + j < utf8.size(); ++j) {
      point = (point << 6) | (static_cast<unsigned char>(utf8[i + j]) & 0x3fU);
    }
    result += point;
    i += length;
  }
  return result;
}

std::string utf8(std::u32string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t point : text) {
    if (point < 0x80) {
      result += static_cast<char>(point);
      continue;
    }
    const int tail = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    const unsigned lead = tail == 1 ? 0xc0U : tail == 2 ? 0xe0U : 0xf0U;
    result += static_cast<char>(lead | (point >> (6 * tail)));
    for (int i = tail - 1; i >= 0; --i) result += static_cast<char>(0x80U | ((point >> (6 * i)) & 0x3fU));
  }
  return result;
}

int cell_width(std::u32string_view text) {
  int total = 0;
  char32_t measured = 0;
  for (const char32_t point : text) {
    const int cells = cells_of(point);
    if (cells > 0) measured = point;
    total += cells;
    if (point == kEmojiVariation) {
      if (is_narrow_emoji(measured)) ++total;
      measured = 0;
    }
  }
  return total;
}

std::u32string set_cell_width(std::u32string_view text, int total) {
  if (total <= 0) return {};
  const int width = cell_width(text);
  if (width <= total) return std::u32string(text) + std::u32string(static_cast<std::size_t>(total - width), U' ');
  int left = 0;
  for (const Grapheme& grapheme : graphemes(text)) {
    if (left == total) return std::u32string(text.substr(0, grapheme.first));
    if (left + grapheme.cells > total) return std::u32string(text.substr(0, grapheme.first)) + U' ';
    left += grapheme.cells;
  }
  return std::u32string(text);
}

std::vector<std::u32string_view> chop(std::u32string_view text, int width) {
  std::vector<std::u32string_view> lines;
  int line_cells = 0;
  std::size_t line_first = 0;
  for (const Grapheme& grapheme : graphemes(text)) {
    if (line_cells + grapheme.cells > width) {
      lines.push_back(text.substr(line_first, grapheme.first - line_first));
      line_first = grapheme.first;
      line_cells = 0;
    }
    line_cells += grapheme.cells;
  }
  if (line_cells > 0) lines.push_back(text.substr(line_first));
  return lines;
}

}  // namespace attn::report
