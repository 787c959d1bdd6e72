// A model's layers as a PNG image.
#pragma once

#include <string>

#include "attn/report/plot.h"

namespace attn::report {

/// On light paper, two pixels for each of the SVG; one where that would be too large. Throws Error (usage) where one is
/// too large too.
[[nodiscard]] std::string plot_png(const PlotGraph& graph);

}  // namespace attn::report
