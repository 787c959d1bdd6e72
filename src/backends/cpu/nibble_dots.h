// One row of floats by a panel of nibbles, by dot products of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "integer_panels.h"

namespace attn::backends::cpu {

/// May such products be used for rows of this depth, whose groups end where these do? Each but the last has to end with
/// 32 bits of a column, and zero points have to be whole numbers.
[[nodiscard]] bool has_nibble_dots(std::int64_t depth, const PanelGroups& groups);

/// Room for a row, taken apart.
[[nodiscard]] std::int64_t digit_bytes(std::int64_t depth, std::int64_t groups);

/// A row as whole numbers of 23 bits and a sign, of a unit for each group that its largest number decides: three bytes
/// each, whose products with nibbles are exact. False where a number is none, infinite or too small for that; then
/// multiply_integers has to be taken.
[[nodiscard]] bool split_row(const float* x, const PanelGroups& groups, std::byte* digits);

/// What multiply_integers makes of the row: it differs by less than 2^-23 of the group's largest number for each
/// weight.
void multiply_nibbles(bool is_signed, const std::byte* digits, const std::byte* panel, const PanelGroups& groups,
                      float* y);

}  // namespace attn::backends::cpu
