// JSON texts that accompany arrays and vocabularies: indexes, metadata, token tables.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace attn::io {

/// The size limits of a JSON text.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t values = 2'000'000;
};

/// An object or array that may be large, and is streamed: its members are passed to `take` one by one.
struct JsonTable {
  std::string pointer;  ///< JSON pointer of the table: "/model/vocab", "" for the whole text; keys with '/' or '~' are
                        ///< not supported
  /// Receives the key ("" in an array) and the value of a member. May throw; must handle repeated keys.
  std::function<void(std::string_view key, const nlohmann::json& value)> take;
};

/// Parses a JSON text. Tables in it become empty objects or arrays. Throws Error (bad_input), beginning with
/// `place`, for invalid JSON, repeated keys, a depth over 64, more than the limits, 1 KiB in a key or 1 MiB in a
/// string.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& place, const JsonLimits& limits = {},
                                        std::span<const JsonTable> tables = {});

}  // namespace attn::io
