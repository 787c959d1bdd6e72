// Colours of results on terminals.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// The headings of tables in bold, and Keras's own table in the colours that Keras gives it
/// (keras/src/utils/summary_utils.py): classes blue, numbers green, None cyan.
[[nodiscard]] std::string colored_result(std::string_view text);

}  // namespace attn::cli
