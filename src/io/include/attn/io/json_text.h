// JSON that stands beside arrays: indexes and metadata.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attn::io {

/// The value of a JSON text. Throws Error (bad_input) that begins with `place` for what is no JSON, keys that repeat,
/// depth over 64, and more than 64 MiB, 2 million values, 1 KiB in a key or 1 MiB in a string.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& place);

}  // namespace attn::io
