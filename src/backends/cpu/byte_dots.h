// Exact products of bytes by panels of bytes, one kernel for each instruction set that has a way to them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "multiplication.h"

namespace attn::backends::cpu {

/// y[i·kPanel + j] = start[j] + Σ x[i·row_x + k]·panel(k, j), exactly. x has no sign and the panel has one; the panel
/// is of IntegerForm::quads, and a row of x has four bytes for each of them.
struct ByteDots {
  std::string_view name;
  std::int64_t rows;  ///< up to which one call is best
  void (*run)(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
              std::int64_t quads, const std::int32_t* start, std::int32_t* y);
};

/// The fastest within isa(). With emulated tiles it is that of AMX, by plain loops.
[[nodiscard]] const ByteDots& byte_dots(Tiles tiles);

/// All that run within isa(), emulated tiles too: for tests.
[[nodiscard]] std::span<const ByteDots> all_byte_dots();

}  // namespace attn::backends::cpu
