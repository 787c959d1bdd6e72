// What heads attend to, as pictures.
#pragma once

#include <cstddef>
#include <string>

#include "attn/report/heatmap.h"

namespace attn::report {

/// Heads of a layer in a row; a single layer fills a square.
[[nodiscard]] std::size_t heads_in_a_row(const HeatmapReport& report);

/// All heads of the layers, beside each other and below each other; light or dark as its reader prefers.
[[nodiscard]] std::string heatmap_svg(const HeatmapReport& report);

/// The same, light, as a PNG image.
[[nodiscard]] std::string heatmap_png(const HeatmapReport& report);

}  // namespace attn::report
