#include "fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "attn/base/text.h"
#include "attn/base/utf8.h"
#include "attn/report/terminal.h"

namespace attn::report {
namespace {

constexpr std::string_view kDash = "─";
constexpr int kGap = 2;                     // blanks between columns
constexpr int kNarrowestFolded = 8;         // the least cells of a column
constexpr int kLongestPart = 28;            // the most cells of an unbroken part of a name; malicious names have longer
                                            // ones
constexpr std::string_view kMarks = "_/,";  // a name may be broken after these

/// Headings of columns that a table may lose, the least important first. Other columns are removed from the last one
/// on.
constexpr std::array<std::string_view, 13> kSpared = {"Cosine",   "ULP",      "Std",  "Mean",     "Zeros",
                                                      "Bytes",    "Max",      "RMS",  "Relative", "Directions",
                                                      "To first", "Distance", "Dtype"};

struct FoldedColumn {
  int width;
  bool right = false;  ///< right-aligned: numbers, which are not folded
  int least = 0;       ///< the least width in cells
};

/// Returns the first `width` cells of the text in whole characters, and removes them from it.
std::string take_cells(std::string_view& text, int width) {
  if (text.empty()) return "";
  std::size_t length = 0;
  int used = 0;
  while (length < text.size()) {
    const std::size_t bytes = front_of(text.substr(length)).bytes;
    const int cells = display_width(text.substr(length, bytes));
    if (used + cells > width && length > 0) break;
    used += cells;
    length += bytes;
  }
  std::string taken(text.substr(0, length));
  text.remove_prefix(length);
  return taken;
}

/// Finds the columns from the rule of a table, the heading above it and the first row below.
std::vector<FoldedColumn> columns_of(std::string_view rule, std::string_view heading, std::string_view row) {
  std::vector<FoldedColumn> columns;
  bool inside = false;
  while (!rule.empty()) {
    const bool dash = rule.starts_with(kDash);
    if (dash && !inside) columns.push_back({0});
    if (dash) ++columns.back().width;
    inside = dash;
    rule.remove_prefix(dash ? kDash.size() : 1);
  }
  for (FoldedColumn& column : columns) {
    const std::string title = take_cells(heading, column.width);
    const std::string cell = take_cells(row, column.width);
    // A heading as wide as its column does not show the alignment.
    column.right = title.starts_with(' ') || (display_width(title) == column.width && cell.starts_with(' '));
    take_cells(heading, kGap);
    take_cells(row, kGap);
  }
  return columns;
}

int total_of(const std::vector<FoldedColumn>& columns) {
  return std::accumulate(columns.begin(), columns.end(), kGap * (static_cast<int>(columns.size()) - 1),
                         [](int total, const FoldedColumn& column) { return total + column.width; });
}

/// The layout of a table that fits the terminal.
struct Layout {
  std::vector<std::size_t> kept;  ///< indices of the remaining columns
  std::vector<int> widths;        ///< width in cells of each remaining column
};

/// Returns the index, in `kept`, of the least important column.
std::size_t least_important(const std::vector<std::size_t>& kept, const std::vector<std::string>& headings) {
  for (const std::string_view spared : kSpared)
    for (std::size_t i = 1; i < kept.size(); ++i)
      if (headings[kept[i]] == spared) return i;
  return kept.size() - 1;
}

/// Narrows the widest columns of text, one cell at a time, until the table fits; then removes its least important
/// columns. Returns nothing if neither makes it fit.
std::optional<Layout> narrowed(std::vector<FoldedColumn> table, const std::vector<std::string>& headings, int columns) {
  Layout out;
  out.kept.resize(table.size());
  std::iota(out.kept.begin(), out.kept.end(), std::size_t{0});
  while (table.size() > 1) {
    std::vector<int> widths;
    for (const FoldedColumn& column : table) widths.push_back(column.width);
    int over = total_of(table) - columns;
    for (; over > 0; --over) {
      int* widest = nullptr;
      for (std::size_t i = 0; i < table.size(); ++i)
        if (widths[i] > table[i].least && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
      if (widest == nullptr) break;
      --*widest;
    }
    if (over <= 0) {
      out.widths = widths;
      return out;
    }
    const auto drop = static_cast<std::ptrdiff_t>(least_important(out.kept, headings));
    out.kept.erase(out.kept.begin() + drop);
    table.erase(table.begin() + drop);
  }
  return std::nullopt;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Returns the length of the part at the start of the text, with the blanks after it: up to a blank or after a mark. A
/// shape, "(None, 50, 512)", a number, "1,024", and a counted name, "dense_1", are not split.
std::size_t part_of(std::string_view text) {
  std::size_t end = text.size();
  if (text.size() > 1 && text[0] == '(' && (is_digit(text[1]) || text.starts_with("(None"))) {
    end = std::min(text.find(')'), text.size() - 1) + 1;
  } else {
    for (std::size_t i = 0; i < text.size() && end == text.size(); ++i) {
      const bool before_digit = i + 1 < text.size() && is_digit(text[i + 1]);
      if (text[i] == ' ') end = i;
      if (kMarks.find(text[i]) != std::string_view::npos && !before_digit) end = i + 1;
    }
  }
  return std::min(text.find_first_not_of(' ', end), text.size());
}

/// Returns the cells of the longest part.
int longest_part(std::string_view text) {
  int longest = 0;
  while (!text.empty()) {
    const std::size_t length = part_of(text);
    longest = std::max(longest, display_width(trimmed(std::string(text.substr(0, length)))));
    text.remove_prefix(length);
  }
  return std::min(longest, kLongestPart);
}

/// Returns lines of at most `width` cells, broken between parts; a wider part is broken anywhere.
std::vector<std::string> pieces(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  const auto fits = [&](const std::string& candidate) { return display_width(trimmed(candidate)) <= width; };
  while (!text.empty()) {
    const std::string part(text.substr(0, part_of(text)));
    if (!line.empty() && !fits(line + part)) lines.push_back(trimmed(std::exchange(line, "")));
    if (line.empty() && !fits(part)) {
      lines.push_back(take_cells(text, width));
      continue;
    }
    line += part;
    text.remove_prefix(part.size());
  }
  if (!line.empty()) lines.push_back(trimmed(line));
  return lines;
}

std::vector<std::string> cells_of(std::string_view row, const std::vector<FoldedColumn>& columns) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool last = i + 1 == columns.size();
    cells.push_back(trimmed(last ? std::string(row) : take_cells(row, columns[i].width)));
    if (!last) take_cells(row, kGap);
  }
  return cells;
}

std::string folded_row(std::string_view row, const std::vector<FoldedColumn>& columns, const Layout& layout) {
  const std::vector<std::string> all = cells_of(row, columns);
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const std::size_t column : layout.kept) {
    cells.push_back(pieces(all[column], layout.widths[cells.size()]));
    height = std::max(height, cells.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string piece = line < cells[i].size() ? cells[i][line] : "";
      const std::string space(static_cast<std::size_t>(std::max(0, layout.widths[i] - display_width(piece))), ' ');
      text += (i > 0 ? "  " : "") + (columns[layout.kept[i]].right ? space + piece : piece + space);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

std::string rule_of(const std::vector<int>& widths) {
  std::string out;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (i > 0) out += "  ";
    for (int cell = 0; cell < widths[i]; ++cell) out += kDash;
  }
  return out + '\n';
}

}  // namespace

bool is_table_rule(std::string_view line) {
  bool dashes = false;
  while (!line.empty()) {
    const bool dash = line.starts_with(kDash);
    if (!dash && line.front() != ' ') return false;
    dashes = dashes || dash;
    line.remove_prefix(dash ? kDash.size() : 1);
  }
  return dashes;
}

namespace {

/// Returns the columns of the table whose heading is line `i` and whose rule is the next, up to an empty line.
std::vector<FoldedColumn> table_at(const std::vector<std::string>& lines, std::size_t i) {
  std::vector<FoldedColumn> table = columns_of(lines[i + 1], lines[i], i + 2 < lines.size() ? lines[i + 2] : "");
  for (FoldedColumn& column : table)
    column.least = column.right ? column.width : std::min(column.width, kNarrowestFolded);
  for (std::size_t row = i; row < lines.size() && !lines[row].empty(); ++row) {
    if (row == i + 1) continue;
    const std::vector<std::string> cells = cells_of(lines[row], table);
    for (std::size_t k = 0; k < table.size(); ++k)
      if (!table[k].right) table[k].least = std::min(table[k].width, std::max(table[k].least, longest_part(cells[k])));
  }
  return table;
}

std::string left_out(const std::vector<std::string>& headings, const Layout& layout, int columns) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < headings.size(); ++i)
    if (std::find(layout.kept.begin(), layout.kept.end(), i) == layout.kept.end()) names.push_back(headings[i]);
  return fmt::format("{} columns are too few for {}; `| less -S` shows all", columns, join(names, ", "));
}

/// Returns whether the line is a sentence, and not a row of a table, a picture, or a line with escape sequences.
bool is_prose(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos || line.find('\x1b') != std::string_view::npos) return false;
  if (line.find("  ", begin) != std::string_view::npos) return false;
  constexpr std::string_view kDrawing = "\xE2\x94", kBlocks = "\xE2\x96";  // the first bytes of U+2500 and U+2580 in
                                                                           // UTF-8
  return line.find(kDrawing) == std::string_view::npos && line.find(kBlocks) == std::string_view::npos;
}

/// Wraps the line between words; the further lines have its indentation and two more cells.
std::string wrapped(std::string_view line, int columns) {
  const auto indent = line.find_first_not_of(' ');
  std::string out, current(line.substr(0, indent));
  bool is_empty = true;
  for (const std::string& word : split(line.substr(indent), ' ')) {
    if (!is_empty && display_width(current) + 1 + display_width(word) > columns) {
      out += current + '\n';
      current.assign(indent + 2, ' ');
      is_empty = true;
    }
    current += (is_empty ? "" : " ") + word;
    is_empty = false;
  }
  return out + current;
}

}  // namespace

std::string folded_tables(std::string_view text, int columns) {
  const std::vector<std::string> lines = split(text, '\n');
  const bool has_table = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return is_table_rule(line); });
  std::string out, note;
  std::vector<FoldedColumn> table;  // the current table, if it is folded
  std::optional<Layout> layout;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool last = i + 1 == lines.size();
    if (lines[i].empty()) {
      table.clear();
      out += std::exchange(note, "");
    }
    const bool heading = !last && is_table_rule(lines[i + 1]);
    if (heading) {
      out += std::exchange(note, "");
      table = table_at(lines, i);
      const std::vector<std::string> headings = cells_of(lines[i], table);
      layout = narrowed(table, headings, columns);
      if (total_of(table) <= columns || !layout) table.clear();
      if (!table.empty() && layout->kept.size() < table.size())
        note = wrapped(left_out(headings, *layout, columns), columns) + '\n';
    }
    if (table.empty()) {
      const bool too_long = has_table && display_width(lines[i]) > columns && !heading && is_prose(lines[i]);
      out += (too_long ? wrapped(lines[i], columns) : lines[i]) + (last ? "" : "\n");
      continue;
    }
    out += folded_row(lines[i], table, *layout);
    if (heading) {
      out += rule_of(layout->widths);
      ++i;
    }
  }
  return out + note;
}

}  // namespace attn::report
