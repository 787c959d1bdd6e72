// Lists of sizes as option values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cli {

/// Parses a list of sizes, separated by commas. An item is a size ("8"), a range with both ends ("128-512"), a range
/// with a step ("128-512+128"), or a range in which each size doubles ("512-16384*2"). Throws Error (usage), which
/// names `option`, for anything else, for numbers below 1 and for more than 1,000 sizes.
[[nodiscard]] std::vector<std::int64_t> parse_range_list(const std::string& option, const std::string& text);

}  // namespace attn::cli
