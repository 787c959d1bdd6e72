// Which form a result takes: what --format says, else the ending of -o.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn::cli {

/// An ending with its point, and the --format that it stands for.
using Endings = std::vector<std::pair<std::string, std::string>>;

/// `format` where it is not empty; else that of the ending of `path`; without a path, or with "-", `otherwise`. Throws
/// Error (usage) for a path with another ending.
[[nodiscard]] std::string form_of(const std::string& format, const std::optional<std::string>& path,
                                  const Endings& endings, const std::string& otherwise);

}  // namespace attn::cli
