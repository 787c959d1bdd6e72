// Text helpers: escaping for output, Python's formats, and spelling suggestions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/size.h"

namespace attn {

/// Escapes `text` for a terminal: control characters (C0, DEL, C1), bidirectional and zero-width controls and invalid
/// UTF-8 become `\u{..}` or `\x..`; everything else is kept. For strings from files and command lines.
[[nodiscard]] std::string printable(std::string_view text);

/// Escapes `text` as printable() does, limited to about `most` bytes with "…" for the rest. For messages that quote
/// their subject.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most = 200);

/// Returns whether `text` is valid UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Returns the terminal cells of a UTF-8 string: 0 for combining marks, 2 for wide characters, otherwise 1 each.
[[nodiscard]] int display_width(std::string_view text) noexcept;

/// Above this number of names there is no suggestion: a near name means little, and the search takes long.
inline constexpr std::size_t kMostNames = 2000;

/// Returns the candidates nearest to `word` by Damerau-Levenshtein distance, if near enough to be typos. Among equally
/// near ones those with the same beginning and end win; at most three. Nothing for over kMostNames candidates.
[[nodiscard]] std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Returns the suggestion for a message: " (did you mean 'x'?)", " (did you mean 'x' or 'y'?)", or "" if no candidate
/// is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Returns the shortest decimal that reads back as the same double, as Python's repr: "0.1", "1e-06", "inf", "nan".
[[nodiscard]] std::string python_repr(double value);
/// Returns Python's repr of a str: 'x', or "it's" if it contains a single quote. Invisible characters are escaped even
/// if Python prints them, such as the Hangul filler U+3164: the result reads back as the same str.
[[nodiscard]] std::string python_repr(std::string_view text);

/// Formats 1234567 as "1,234,567".
[[nodiscard]] std::string with_commas(std::int64_t value);
[[nodiscard]] std::string with_commas(UInt128 value);

/// Formats bytes as Keras's summary does: steps of 1024, two decimals, "0.00 B" to PB.
[[nodiscard]] std::string memory_size(UInt128 bytes);

/// Returns Keras's snake case of a class name, for automatic layer names: "MultiHeadAttention" →
/// "multi_head_attention".
[[nodiscard]] std::string snake_case(std::string_view class_name);

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

}  // namespace attn
