#include "wrap.h"

#include <algorithm>
#include <cstddef>

#include "cells.h"

namespace attn::report {
namespace {

/// Returns whether the character is a space by Python's str.isspace. Controls never occur here.
bool is_space(char32_t point) {
  return point == U' ' || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

std::u32string_view without_trailing_space(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns the end of the word at `first`: leading spaces, the word, trailing spaces. Returns `first` if no word is
/// left.
std::size_t word_end(std::u32string_view text, std::size_t first) {
  std::size_t i = first;
  while (i < text.size() && is_space(text[i])) ++i;
  if (i == text.size()) return first;
  while (i < text.size() && !is_space(text[i])) ++i;
  while (i < text.size() && is_space(text[i])) ++i;
  return i;
}

/// Returns the line breaks: indices of the first character of each further line.
std::vector<std::size_t> breaks(std::u32string_view text, int width, Overflow overflow) {
  std::vector<std::size_t> result;
  const auto break_at = [&](std::size_t position) {
    if (position > 0) result.push_back(position);
  };
  int cells = 0;  // width of the current line, in cells
  std::size_t start = 0;
  for (std::size_t end = word_end(text, start); end != start; start = end, end = word_end(text, start)) {
    const std::u32string_view word = text.substr(start, end - start);
    const int word_cells = cell_width(without_trailing_space(word));
    if (word_cells <= width - cells) {
      cells += cell_width(word);
    } else if (word_cells > width && overflow == Overflow::fold) {
      const std::vector<std::u32string_view> pieces = chop(word, width);
      std::size_t position = start;
      for (const std::u32string_view piece : pieces) {
        break_at(position);
        position += piece.size();
      }
      if (!pieces.empty()) cells = cell_width(pieces.back());
    } else if (word_cells > width || cells > 0) {
      break_at(start);
      cells = cell_width(word);
    }
  }
  return result;
}

std::u32string blanks(int count) { return std::u32string(static_cast<std::size_t>(std::max(0, count)), U' '); }

/// Removes trailing spaces as long as the line has more characters than the width has cells.
std::u32string_view drop_excess_space(std::u32string_view line, int width) {
  while (!line.empty() && line.size() > static_cast<std::size_t>(width) && is_space(line.back())) line.remove_suffix(1);
  return line;
}

std::u32string truncated(std::u32string_view line, int width, Overflow overflow) {
  if (cell_width(line) <= width) return std::u32string(line);
  return overflow == Overflow::ellipsis ? set_cell_width(line, width - 1) + U'…' : set_cell_width(line, width);
}

std::u32string justified(std::u32string_view line, int width, Justify justify, Overflow overflow) {
  if (justify == Justify::right || justify == Justify::center) line = without_trailing_space(line);
  std::u32string text = truncated(line, width, overflow);
  if (justify == Justify::none) return text;
  const int space = width - cell_width(text);
  const int left = justify == Justify::right ? space : justify == Justify::center ? space / 2 : 0;
  return set_cell_width(blanks(left) + text, width);
}

}  // namespace

std::vector<std::u32string> wrap(std::u32string_view text, int width, Justify justify, Overflow overflow) {
  std::vector<std::u32string> lines;
  if (width < 1) return lines;
  std::size_t first = 0;
  std::vector<std::size_t> ends = breaks(text, width, overflow);
  ends.push_back(text.size());
  for (const std::size_t end : ends) {
    const std::u32string_view line = drop_excess_space(text.substr(first, end - first), width);
    lines.push_back(justified(line, width, justify, overflow));
    first = end;
  }
  return lines;
}

int widest_word(std::u32string_view text) {
  int widest = 0;
  std::size_t start = 0;
  for (std::size_t end = word_end(text, start); end != start; start = end, end = word_end(text, start)) {
    widest = std::max(widest, cell_width(without_trailing_space(text.substr(start, end - start))));
  }
  return widest;
}

}  // namespace attn::report
