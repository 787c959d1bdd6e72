// Folding of tables that are wider than the terminal.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// Is it the line under the heading of a table: dashes ("─") in columns two blanks apart?
[[nodiscard]] bool is_table_rule(std::string_view line);

/// Narrows every table that is wider than `columns` cells: its widest columns continue in the next lines, broken
/// between the parts of a name and never in a number. If that is not enough, the last columns are removed, and a line
/// below names them. Lines outside tables, and tables that cannot fit, stay unchanged.
[[nodiscard]] std::string folded_tables(std::string_view text, int columns);

}  // namespace attn::cli
