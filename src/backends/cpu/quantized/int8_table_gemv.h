// Int8 products of a few rows with a table that is not packed: the rows of the table are the columns of the product.
// Used for an embedding that is also used for lookups, and therefore has no packed copy.
#pragma once

#include <cstdint>

namespace attn::backends::cpu {

/// The maximum number of rows; for more rows, a packed copy is faster.
inline constexpr std::int64_t kMostTableRows = 8;

/// Returns whether the CPU and ATTN_ISA allow such products.
[[nodiscard]] bool has_int8_table_gemv();

/// y[i·kPanel + j] = start[j] + Σ x[i·row_x + k]·table[j·depth + k], exactly, for `count` columns, at most kPanel. x is
/// unsigned and the table is signed.
void multiply_table(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::int8_t* table,
                    std::int64_t depth, std::int64_t count, const std::int32_t* start, std::int32_t* y);

}  // namespace attn::backends::cpu
