// Exact int8 dot products of rows with panels, one kernel for each instruction set that supports them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gemm/multiplication.h"

namespace attn::backends::cpu {

/// y[i·kPanel + j] = start[j] + Σ x[i·row_x + k]·panel(k, j), exactly. x is unsigned and the panel is signed. The panel
/// has the form IntegerForm::quads; a row of x is padded to whole quads (four bytes).
struct Int8Dots {
  std::string_view name;
  std::int64_t rows;  ///< optimal number of rows per call
  void (*run)(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
              std::int64_t quads, const std::int32_t* start, std::int32_t* y);
};

/// Returns the fastest kernel that the CPU and ATTN_ISA allow. With emulated tiles it is the kernel for AMX, emulated
/// by plain loops.
[[nodiscard]] const Int8Dots& int8_dots(Tiles tiles);

/// Returns all kernels that the CPU and ATTN_ISA allow, including emulated tiles: for tests.
[[nodiscard]] std::span<const Int8Dots> all_int8_dots();

}  // namespace attn::backends::cpu
