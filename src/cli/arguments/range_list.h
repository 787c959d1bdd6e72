// Lists of sizes as option values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cli {

/// Parses "1,8", "128-512" (both ends, every number), "128-512+128" (in steps), "512-16384*2" (each twice the one
/// before), or several of these after commas. Numbers are positive. Throws Error (usage), naming `option`, for anything
/// else and for more than 1,000 sizes.
[[nodiscard]] std::vector<std::int64_t> parse_range_list(const std::string& option, const std::string& text);

}  // namespace attn::cli
