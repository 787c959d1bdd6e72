// NaN, Infinity and -Infinity in JSON: Python writes and reads them, and the parser does not know them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn::keras {

/// A copy of a JSON text in which every NaN, Infinity and -Infinity outside of strings is a string of the same length,
/// so that places stay what they are; nothing where there is none.
[[nodiscard]] std::optional<std::string> with_quoted_numbers(std::string_view text);

/// The number that ends at byte `last` of the text as it was; nothing where a string ends there.
[[nodiscard]] std::optional<double> number_ending_at(std::string_view text, std::size_t last);

/// "NaN", "Infinity" or "-Infinity"; nothing for a finite number.
[[nodiscard]] std::optional<std::string_view> non_finite_name(double number);

}  // namespace attn::keras
