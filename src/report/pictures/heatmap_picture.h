// Attention maps as images.
#pragma once

#include <cstddef>
#include <string>

#include "attn/report/heatmap.h"

namespace attn::report {

/// Returns the number of heads in a row; a single layer fills a square.
[[nodiscard]] std::size_t heads_in_a_row(const HeatmapReport& report);

/// Returns all heads of the layers in a grid; follows the reader's light or dark theme.
[[nodiscard]] std::string heatmap_svg(const HeatmapReport& report);

/// Returns all heads of the layers in a grid, in the light theme, as a PNG image.
[[nodiscard]] std::string heatmap_png(const HeatmapReport& report);

}  // namespace attn::report
