// ATTN_* variables, which are defaults of options, and what errors say of both.
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

/// An error of a command that ran, with what is to be changed: the option of Error::field(), or the variable that its
/// value comes from.
[[nodiscard]] Error with_way_out(const Error& error, const CLI::App& command, const std::vector<std::string>& words);

}  // namespace attn::cli
