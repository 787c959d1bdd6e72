// Tables that are wider than the terminal.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// Is it the line under the heading of a table: dashes ("─") in columns two blanks apart?
[[nodiscard]] bool is_table_rule(std::string_view line);

/// The text with every such table that is wider than `columns` cells made narrower: its widest columns go on in the
/// next lines, broken between the parts of a name and never in a number. Where that does not do, the last columns are
/// left out, and a line below says which. Lines outside tables, and tables that nothing makes fit, stay as they are.
[[nodiscard]] std::string folded_tables(std::string_view text, int columns);

}  // namespace attn::cli
