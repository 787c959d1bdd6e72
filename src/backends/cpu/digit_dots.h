// Few rows of floats by a panel of integers, by dot products of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "integer_panels.h"

namespace attn::backends::cpu {

/// The most rows of multiply_digits: more gain by a panel that is widened once.
inline constexpr std::int64_t kMostDigitRows = 8;

/// May such products be used for a depth whose groups end where these do? Each but the last has to end with 32 bits of
/// a column, and zero points have to be whole numbers.
[[nodiscard]] bool has_digit_dots(IntegerForm form, std::int64_t depth, const PanelGroups& groups);

/// Room for a row, taken apart.
[[nodiscard]] std::int64_t digit_bytes(IntegerForm form, std::int64_t depth, std::int64_t groups);

/// A row as whole numbers of 23 bits and a sign, of a unit for each group that its largest number decides: three bytes
/// each, whose products with bytes and nibbles are exact. False where a number is none, infinite or too small for that;
/// then multiply_integers has to be taken.
[[nodiscard]] bool split_row(IntegerForm form, const float* x, const PanelGroups& groups, std::byte* digits);

/// What multiply_integers makes of up to kMostDigitRows rows, which lie row_digits bytes apart: it differs by less than
/// 2^-23 of the group's largest number for each weight.
void multiply_digits(IntegerForm form, bool is_signed, const std::byte* digits, std::int64_t row_digits,
                     std::int64_t rows, const std::byte* panel, const PanelGroups& groups, float* y);

}  // namespace attn::backends::cpu
