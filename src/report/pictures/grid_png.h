// Grids of numbers as PNG.
#pragma once

#include <span>
#include <string>

#include "attn/report/grid.h"

namespace attn::report {

/// Returns the bytes of an image of the grids, one below the other, in the light theme.
[[nodiscard]] std::string grids_png(const std::string& title, std::span<const Grid> grids);

}  // namespace attn::report
