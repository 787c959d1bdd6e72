// ATTN_* variables: defaults of options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "attn/base/error.h"

namespace attn::cli {

/// The variable of a long option: "ATTN_SEQ_LEN" of --seq-len. An option has one where it takes one value that is no
/// file, several commands have an option of this name, and its command has not set configurable(false) for it. Empty
/// where it has none.
[[nodiscard]] std::string variable_of(const CLI::App& program, const CLI::Option& option);

/// Lets the options of `command` take their variables. A value that only other commands know (ATTN_FORMAT=csv) is
/// passed over.
void read_variables(const CLI::App& program, CLI::App& command);

/// The variable that gave an option its value; "" where the command line did, or nothing.
[[nodiscard]] std::string variable_behind(const CLI::Option& option, const std::vector<std::string>& words);

/// A usage error found after parsing, with the variable that it comes from where one does.
[[nodiscard]] Error with_variable(const Error& error, const CLI::App& command, const std::vector<std::string>& words);

}  // namespace attn::cli
