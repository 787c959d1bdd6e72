// A table of numbers in a text of comma-separated values (.csv).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::io {

struct NumberTable {
  std::vector<std::string> columns;  ///< what the first line calls them; empty where it holds numbers already
  std::int64_t rows = 0, width = 0;
  std::vector<double> numbers;  ///< (rows, width)
};

/// A row of finite numbers in each line, and names in the first one where a cell of it is no number. Spaces around a
/// cell, quotation marks around a name, a byte order mark, and empty lines behind the last row do not count. `file` is
/// what messages call it. Throws Error (bad_input), with the line and the column, for a cell that is no finite number,
/// a line of another width, two columns of one name, and a table without rows.
[[nodiscard]] NumberTable read_number_table(std::string_view text, std::string_view file);

}  // namespace attn::io
