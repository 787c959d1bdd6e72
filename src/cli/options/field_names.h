// The options that stand for the fields of options which messages from below the command line name.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// "sequence_length" is "--seq-len". The name with dashes for a field that has no other.
[[nodiscard]] std::string option_name(std::string_view field);

/// The message with options in place of the fields that it names in backticks: "`batch` 12 fits" becomes
/// "--batch 12 fits". Other words in backticks stay.
[[nodiscard]] std::string with_option_names(std::string_view message);

}  // namespace attn::cli
