// The layout of tables in text.
#pragma once

#include <string_view>

namespace attn::report {

/// Returns whether the line is the rule under the heading of a table: dashes ("─") in columns two blanks apart.
[[nodiscard]] bool is_table_rule(std::string_view line);

}  // namespace attn::report
