// Former names of options, which version 0.2 still accepts; the help does not show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options/option_tree.h"

namespace attn::cli {

/// Returns the words with the options' present names: "--batch=8" becomes "--batch-size=8". A name that the command has
/// stays as it is.
[[nodiscard]] std::vector<std::string> with_present_names(const CommandSpec& command, std::vector<std::string> words);

/// Returns the former name of an option, without dashes: "batch" for "batch-size"; "" if it has none or another option
/// has that name now. An ATTN_* variable of the former name is read too.
[[nodiscard]] std::string_view former_name(std::string_view name);

}  // namespace attn::cli
