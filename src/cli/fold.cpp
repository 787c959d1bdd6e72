#include "fold.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "ascii.h"
#include "attn/base/text.h"

namespace attn::cli {
namespace {

constexpr std::string_view kDash = "─";
constexpr int kGap = 2;        // blanks between columns
constexpr int kNarrowest = 8;  // cells that a column keeps

struct Column {
  int width;
  bool right = false;  ///< aligned: numbers, which are not folded
};

/// The first `width` cells of the text, whole characters; takes them off it.
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

/// By the rule of a table, the heading above it and the first row below.
std::vector<Column> columns_of(std::string_view rule, std::string_view heading, std::string_view row) {
  std::vector<Column> columns;
  bool inside = false;
  while (!rule.empty()) {
    const bool dash = rule.starts_with(kDash);
    if (dash && !inside) columns.push_back({0});
    if (dash) ++columns.back().width;
    inside = dash;
    rule.remove_prefix(dash ? kDash.size() : 1);
  }
  for (Column& column : columns) {
    const std::string title = take_cells(heading, column.width);
    const std::string cell = take_cells(row, column.width);
    // A heading as wide as its column does not tell.
    column.right = title.starts_with(' ') || (display_width(title) == column.width && cell.starts_with(' '));
    take_cells(heading, kGap);
    take_cells(row, kGap);
  }
  return columns;
}

int total_of(const std::vector<Column>& columns) {
  return std::accumulate(columns.begin(), columns.end(), kGap * (static_cast<int>(columns.size()) - 1),
                         [](int total, const Column& column) { return total + column.width; });
}

/// The widest columns of text, one cell after the other, until the table fits or all are as narrow as they get.
std::vector<int> narrowed(const std::vector<Column>& table, int columns) {
  std::vector<int> widths;
  for (const Column& column : table) widths.push_back(column.width);
  for (int over = total_of(table) - columns; over > 0; --over) {
    int* widest = nullptr;
    for (std::size_t i = 0; i < table.size(); ++i)
      if (!table[i].right && widths[i] > kNarrowest && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Lines of at most `width` cells, broken at a blank, else behind a mark inside a name, where there is one.
std::vector<std::string> pieces(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string line = take_cells(text, width);
    if (!text.empty() && text.front() != ' ') {
      auto keep = line.rfind(' ');
      if (keep == std::string::npos) keep = line.find_last_of("_/,(") + 1;  // 0 where there is none
      if (keep > 0 && keep < line.size()) {
        text = std::string_view(text.data() - (line.size() - keep), text.size() + line.size() - keep);
        line.resize(keep);
      }
    }
    lines.push_back(trimmed(line));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  }
  return lines;
}

std::string folded_row(std::string_view row, const std::vector<Column>& columns, const std::vector<int>& widths) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string cell = i + 1 < columns.size() ? take_cells(row, columns[i].width) : std::string(row);
    if (i + 1 < columns.size()) take_cells(row, kGap);
    cells.push_back(pieces(trimmed(cell), widths[i]));
    height = std::max(height, cells.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string piece = line < cells[i].size() ? cells[i][line] : "";
      const std::string space(static_cast<std::size_t>(std::max(0, widths[i] - display_width(piece))), ' ');
      text += (i > 0 ? "  " : "") + (columns[i].right ? space + piece : piece + space);
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

std::string folded_tables(std::string_view text, int columns) {
  const std::vector<std::string> lines = split(text, '\n');
  std::string out;
  std::vector<Column> table;  // the one whose rows follow, where it is folded
  std::vector<int> widths;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool last = i + 1 == lines.size();
    if (lines[i].empty()) table.clear();
    const bool heading = !last && is_table_rule(lines[i + 1]);
    if (heading) {
      table = columns_of(lines[i + 1], lines[i], i + 2 < lines.size() ? lines[i + 2] : "");
      widths = narrowed(table, columns);
      if (total_of(table) <= columns) table.clear();
    }
    if (table.empty()) {
      out += lines[i] + (last ? "" : "\n");
      continue;
    }
    out += folded_row(lines[i], table, widths);
    if (heading) {
      out += rule_of(widths);
      ++i;
    }
  }
  return out;
}

}  // namespace attn::cli
