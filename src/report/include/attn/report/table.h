// A table of strings: for a terminal, a page or a spreadsheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::report {

enum class Align { left, right };

struct TableColumn {
  std::string header;
  Align align = Align::left;
};

/// A table in which every row has a cell for each column. Cells may contain any characters; they are made printable
/// here.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Returns columns that are aligned and separated by two spaces, under a header and a rule. Nothing is truncated.
[[nodiscard]] std::string plain_table(const Table& table);

/// Returns a GitHub-flavored Markdown table; markup of Markdown and HTML in cells is escaped.
[[nodiscard]] std::string markdown_table(const Table& table);

/// Returns the table in CSV (RFC 4180) with a header record. A cell that a spreadsheet would interpret as a formula (it
/// begins with = + - @ and is not a number) gets a leading apostrophe.
[[nodiscard]] std::string csv_table(const Table& table);

/// Escapes text from a file for Markdown.
[[nodiscard]] std::string markdown_text(std::string_view text);

}  // namespace attn::report
