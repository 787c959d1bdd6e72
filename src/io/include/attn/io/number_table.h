// A table of numbers in comma-separated values (.csv).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::io {

struct NumberTable {
  std::vector<std::string> columns;  ///< names of the columns from the first line; empty if that line has numbers
  std::int64_t rows = 0, width = 0;
  std::vector<double> numbers;  ///< elements of the array (rows, width), row by row
};

/// Parses one row of finite numbers per line, with names in the first line if one of its cells is not a number. Spaces
/// around a cell, quotation marks around a name, a byte order mark, and trailing empty lines are ignored. `file` is the
/// name in messages. Throws Error (bad_input), with the line and the column, for a cell that is not a finite number,
/// and for a line of another width. Throws it also for two columns with one name, and for a table without rows.
[[nodiscard]] NumberTable read_number_table(std::string_view text, std::string_view file);

}  // namespace attn::io
