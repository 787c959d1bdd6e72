// JSON that stands beside arrays and vocabularies: indexes, metadata, tables of tokens.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace attn::io {

/// How much a JSON text may hold.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t values = 2'000'000;
};

/// An object or array of which no tree is made, because it may be large: its members go one by one to `take`.
struct JsonTable {
  std::string pointer;  ///< where it stands: "/model/vocab", "" for the whole text; keys with '/' or '~' are not found
  /// Gets the key ("" in an array) and the value. It may throw, and sees to keys that repeat itself.
  std::function<void(std::string_view key, const nlohmann::json& value)> take;
};

/// The value of a JSON text. Tables in it are empty objects or arrays. Throws Error (bad_input) that begins with
/// `place` for what is no JSON, keys that repeat, depth over 64, more than the limits, 1 KiB in a key or 1 MiB in a
/// string.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& place, const JsonLimits& limits = {},
                                        std::span<const JsonTable> tables = {});

}  // namespace attn::io
