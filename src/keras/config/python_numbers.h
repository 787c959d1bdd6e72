// NaN, Infinity and -Infinity in JSON, which Python reads and writes but the parser rejects.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn::keras {

/// Copies a JSON text with every NaN, Infinity and -Infinity outside of strings replaced by a string of the same
/// length, so that positions are unchanged; empty if there is none.
[[nodiscard]] std::optional<std::string> with_quoted_numbers(std::string_view text);

/// The number that ends at byte `last` of the original text; empty if a string ends there.
[[nodiscard]] std::optional<double> number_ending_at(std::string_view text, std::size_t last);

/// "NaN", "Infinity" or "-Infinity"; empty for a finite number.
[[nodiscard]] std::optional<std::string_view> non_finite_name(double number);

}  // namespace attn::keras
