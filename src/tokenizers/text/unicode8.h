// Unicode 8, which Hugging Face's library uses to classify punctuation, formats and marks (its crate unicode_categories
// 0.1.1).
#pragma once

namespace attn::tokenizers::unicode8 {

[[nodiscard]] bool is_punctuation(char32_t point) noexcept;  ///< \p{P}
[[nodiscard]] bool is_format(char32_t point) noexcept;       ///< \p{Cf}
[[nodiscard]] bool is_nonspacing(char32_t point) noexcept;   ///< \p{Mn}

}  // namespace attn::tokenizers::unicode8
