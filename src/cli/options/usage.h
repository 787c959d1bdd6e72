// A command line that is wrong, in one sentence that names the wrong word.
#pragma once

#include <string>
#include <vector>

#include "attn/base/error.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace attn::cli {

/// What CLI11 found wrong with `words`, given to `command` of `program`, or to the program where that is null.
[[nodiscard]] Error usage_error(const CLI::App& program, const CLI::App* command, const CLI::ParseError& found,
                                const std::vector<std::string>& words);

}  // namespace attn::cli
