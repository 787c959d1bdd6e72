// Text helpers: what is safe to print, how Python prints, and what a user may have meant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/size.h"

namespace attn {

/// `text` fit to print: control characters (C0, DEL, C1), bidirectional and zero-width controls and invalid UTF-8
/// become `\u{..}` or `\x..`; everything else is kept. For every string that came from a file or a command line.
[[nodiscard]] std::string printable(std::string_view text);

/// The same of at most about `most` bytes, with "…" for the rest: for messages, which repeat what they are about.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most = 200);

/// Is `text` valid UTF-8 (no surrogates, no overlong forms)?
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Terminal cells of a UTF-8 string: 0 for combining marks, 2 for wide characters, else 1 each.
[[nodiscard]] int display_width(std::string_view text) noexcept;

/// Among more names nothing is meant: a near one says little there, and the search takes long.
inline constexpr std::size_t kMostNames = 2000;

/// The candidate nearest to `word` by Damerau-Levenshtein distance, if it is near enough to be a typo of it; of equally
/// near ones that which begins and ends like it, and up to three where that leaves several. None of over kMostNames.
[[nodiscard]] std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates);

/// " (did you mean 'x'?)", " (did you mean 'x' or 'y'?)", or "" where nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Shortest decimal that reads back as the same double, as Python's repr: "0.1", "1e-06", "1.0", "inf", "nan".
[[nodiscard]] std::string python_repr(double value);
/// Python's repr of a str: 'x', or "it's" where it holds a single quote. What is not seen is escaped even where Python
/// prints it, as the Hangul filler U+3164: that reads back as the same str.
[[nodiscard]] std::string python_repr(std::string_view text);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string with_commas(std::int64_t value);
[[nodiscard]] std::string with_commas(UInt128 value);

/// Bytes as Keras's summary prints them: steps of 1024, two decimals, "0.00 B" to PB.
[[nodiscard]] std::string memory_size(UInt128 bytes);

/// Keras's snake case of a class name, for automatic layer names: "MultiHeadAttention" → "multi_head_attention".
[[nodiscard]] std::string snake_case(std::string_view class_name);

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

}  // namespace attn
