// Few rows of bytes by a table as it is stored, whose rows are the columns of the product: that of an embedding, which
// also picks rows of it, and so needs no packed copy beside it.
#pragma once

#include <cstdint>

namespace attn::backends::cpu {

/// The most rows: more gain by a packed copy.
inline constexpr std::int64_t kMostTableRows = 8;

/// Has this CPU such products, within isa()?
[[nodiscard]] bool has_table_dots();

/// y[i·kPanel + j] = start[j] + Σ x[i·row_x + k]·table[j·depth + k], exactly, of `count` columns, at most kPanel. x has
/// no sign and the table has one.
void multiply_table(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::int8_t* table,
                    std::int64_t depth, std::int64_t count, const std::int32_t* start, std::int32_t* y);

}  // namespace attn::backends::cpu
