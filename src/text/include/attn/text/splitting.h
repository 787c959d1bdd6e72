// Splits a text into terms, like TextVectorization.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::text {

enum class Split : std::uint8_t { whole, whitespace, character };

struct Splitting {
  bool lower = false;              ///< lowercases ASCII letters only, like tf.strings.lower
  bool strip_punctuation = false;  ///< removes ASCII punctuation
  Split split = Split::whitespace;
  std::vector<std::int64_t> ngrams{};  ///< widths of n-grams, in this order; empty: single terms
};

/// Removes the stripped characters and lowercases the text.
[[nodiscard]] std::string standardized(std::string_view text, const Splitting& how);
/// Splits at ASCII whitespace, or into code points (U+FFFD for invalid UTF-8), or returns the whole text.
[[nodiscard]] std::vector<std::string> pieces_of(std::string_view text, Split how);
/// Returns all n-grams of each width, joined by spaces, one width after another. Throws Error (bad_input) if they need
/// more than 1 GiB.
[[nodiscard]] std::vector<std::string> ngrams_of(const std::vector<std::string>& terms,
                                                 const std::vector<std::int64_t>& widths);

}  // namespace attn::text
