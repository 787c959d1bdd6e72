#include "attn/report/table.h"

#include <algorithm>
#include <cstddef>

#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/report/terminal.h"

namespace attn::report {
namespace {

using Row = std::vector<std::string>;

/// Applies `change` to every cell and the header; the header is the first row.
template <typename Change>
std::vector<Row> changed(const Table& table, Change change) {
  std::vector<Row> rows(1);
  for (const TableColumn& column : table.columns) rows.front().push_back(change(column.header));
  for (const Row& row : table.rows) {
    rows.emplace_back();
    for (const std::string& cell : row) rows.back().push_back(change(cell));
  }
  return rows;
}

std::vector<int> widths_of(const std::vector<Row>& rows, int narrowest) {
  std::vector<int> widths(rows.front().size(), narrowest);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string aligned(const std::string& text, int width, Align align) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return align == Align::right ? space + text : text + space;
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

std::string csv_cell(const std::string& cell) {
  std::string text = printable(cell);
  constexpr std::string_view kFormulaStarts = "=+-@";
  if (!text.empty() && kFormulaStarts.find(text.front()) != std::string_view::npos && !parse_number<double>(text)) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string plain_table(const Table& table) {
  const std::vector<Row> rows = changed(table, [](const std::string& text) { return cell_text(printable(text)); });
  const std::vector<int> widths = widths_of(rows, 1);
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    std::string rule;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      if (i > 0) line += "  ";
      if (i > 0) rule += "  ";
      line += aligned(rows[r][i], widths[i], table.columns[i].align);
      rule += repeated("─", widths[i]);
    }
    append_line(out, std::move(line));
    if (r == 0) append_line(out, std::move(rule));
  }
  return out;
}

std::string markdown_table(const Table& table) {
  const std::vector<Row> rows = changed(table, [](const std::string& text) { return cell_text(markdown_text(text)); });
  const std::vector<int> widths = widths_of(rows, 3);  // a rule has at least three dashes
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line = "|";
    std::string rule = "|";
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const Align align = table.columns[i].align;
      line += ' ' + aligned(rows[r][i], widths[i], align) + " |";
      rule += ' ' + repeated("-", widths[i] - 1) + (align == Align::right ? ": |" : "- |");
    }
    append_line(out, std::move(line));
    if (r == 0) append_line(out, std::move(rule));
  }
  return out;
}

std::string csv_table(const Table& table) {
  std::string out;
  for (const Row& row : changed(table, csv_cell)) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i > 0 ? "," : "") + row[i];
    out += "\r\n";
  }
  return out;
}

std::string markdown_text(std::string_view text) {
  const std::string safe = printable(text);
  const auto is_word = [&](std::size_t i) {
    const auto c = static_cast<unsigned char>(safe[i]);
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    // An underscore inside a word, and a bracket without a link after it, are not markup; without escapes, names stay
    // readable.
    const bool inner = i > 0 && i + 1 < safe.size() && is_word(i - 1) && is_word(i + 1);
    const bool link = c == '(' && i > 0 && safe[i - 1] == ']';
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      if (link || (c == '_' && !inner) || std::string_view("\\|`*~").find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

}  // namespace attn::report
