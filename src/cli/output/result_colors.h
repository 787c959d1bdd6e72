// Colours of results on terminals.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// Makes the headings of tables bold, and colours Keras's own table as Keras does (keras/src/utils/summary_utils.py):
/// classes blue, numbers green, None cyan.
[[nodiscard]] std::string colored_result(std::string_view text);

}  // namespace attn::cli
