// A table of texts: for a terminal, a page or a spreadsheet.
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

/// Every row has a cell per column. Cells may hold anything; they are made printable here.
struct Table {
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Aligned columns, two blanks apart, under a header and a rule. Nothing is cut.
[[nodiscard]] std::string plain_table(const Table& table);

/// A GitHub-flavoured Markdown table; what Markdown or HTML would read as markup is escaped.
[[nodiscard]] std::string markdown_table(const Table& table);

/// RFC 4180 with a header record. A cell that a spreadsheet would take for a formula (it begins with = + - @ and is not
/// a number) gets a leading apostrophe.
[[nodiscard]] std::string csv_table(const Table& table);

/// Text from a file, safe inside Markdown.
[[nodiscard]] std::string markdown_text(std::string_view text);

}  // namespace attn::report
