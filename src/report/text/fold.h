// The layout of tables in text.
#pragma once

#include <string_view>

namespace attn::report {

/// Returns whether the line is the rule under the heading of a table: dashes ("─") in columns two blanks apart.
[[nodiscard]] bool is_table_rule(std::string_view line);

/// Returns whether the character is an ASCII digit.
[[nodiscard]] inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace attn::report
