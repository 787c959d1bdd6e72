// NaN, Infinity and -Infinity in JSON, which Python reads and writes but the parser rejects.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn::keras {

/// Copies a JSON text, and replaces every NaN, Infinity and -Infinity outside of strings by a string of the same
/// length. All other positions stay the same. Empty if there is nothing to replace.
[[nodiscard]] std::optional<std::string> with_quoted_numbers(std::string_view text);

/// Returns the number that ends at byte `last` of the original text; empty if a string ends there.
[[nodiscard]] std::optional<double> number_ending_at(std::string_view text, std::size_t last);

/// Returns "NaN", "Infinity" or "-Infinity"; empty for a finite number.
[[nodiscard]] std::optional<std::string_view> non_finite_name(double number);

}  // namespace attn::keras
