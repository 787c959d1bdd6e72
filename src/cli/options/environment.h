// ATTN_* variables: they set the defaults of options, and error messages name them.
#pragma once

#include <string>
#include <vector>

#include "attn/base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attn::cli {

/// Sets the options of `command` from their variables. A value that only other commands accept (ATTN_FORMAT=csv) is
/// ignored.
void read_variables(const CLI::App& program, CLI::App& command);

/// Returns the variable that set the option; "" if it was set on the command line or not at all.
[[nodiscard]] std::string variable_behind(const CLI::Option& option, const std::vector<std::string>& words);

/// Adds to a command's error what the user has to change: the option of Error::field(), or the variable that has set
/// it.
[[nodiscard]] Error with_way_out(const Error& error, const CLI::App& command, const std::vector<std::string>& words);

}  // namespace attn::cli
