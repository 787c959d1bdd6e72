// Grids of numbers as SVG.
#pragma once

#include <span>
#include <string>

#include "attn/report/grid.h"

namespace attn::report {

/// Returns the grids one below the other; follows the reader's light or dark theme. The tooltip of a cell has its
/// number.
[[nodiscard]] std::string grids_svg(const std::string& title, std::span<const Grid> grids);

}  // namespace attn::report
