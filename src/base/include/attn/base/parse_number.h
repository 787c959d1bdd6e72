// Reads numbers from text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace attn {

/// Returns the number that the whole text spells. Returns empty for any other text, and for a number out of range.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number out{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end ? std::optional(out) : std::nullopt;
}

}  // namespace attn
