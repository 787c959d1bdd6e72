// Messages for an invalid command line: one sentence that names the wrong word.
#pragma once

#include <string>
#include <vector>

#include "attn/base/error.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace attn::cli {

/// Converts CLI11's error about `words` to a usage error of `command`, or of `program` if `command` is null.
[[nodiscard]] Error usage_error(const CLI::App& program, const CLI::App* command, const CLI::ParseError& found,
                                const std::vector<std::string>& words);

}  // namespace attn::cli
