// ATTN_* variables: defaults of options.
#pragma once

#include <string>
#include <vector>

#include "attn/base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attn::cli {

/// Lets the options of `command` take their variables. A value that only other commands know (ATTN_FORMAT=csv) is
/// passed over.
void read_variables(const CLI::App& program, CLI::App& command);

/// The variable that gave an option its value; "" where the command line did, or nothing.
[[nodiscard]] std::string variable_behind(const CLI::Option& option, const std::vector<std::string>& words);

/// A usage error found after parsing, with the variable that it comes from where one does.
[[nodiscard]] Error with_variable(const Error& error, const CLI::App& command, const std::vector<std::string>& words);

}  // namespace attn::cli
