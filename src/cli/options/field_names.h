// Replaces fields by options in messages: modules below `cli` name fields.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// Returns "--seq-len" for "sequence_length"; for most fields, the same name with dashes.
[[nodiscard]] std::string option_name(std::string_view field);

/// Replaces the fields that a message has in backticks by options: "`batch` 12 fits" becomes "--batch-size 12 fits".
/// Other words in backticks stay.
[[nodiscard]] std::string with_option_names(std::string_view message);

}  // namespace attn::cli
