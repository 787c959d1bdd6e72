// What heads attend to, as pictures.
#pragma once

#include <string>

#include "attn/report/heatmap.h"

namespace attn::report {

/// All heads of the layers, beside each other and below each other; light or dark as its reader prefers.
[[nodiscard]] std::string heatmap_svg(const HeatmapReport& report);

/// The same without text, light, as a PNG image.
[[nodiscard]] std::string heatmap_png(const HeatmapReport& report);

}  // namespace attn::report
