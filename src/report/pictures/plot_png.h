// A plot of a model's layers as a PNG image.
#pragma once

#include <string>

#include "attn/report/plot.h"

namespace attn::report {

/// Returns the plot in the light theme, with two image pixels for each pixel of the SVG, or one if that would be too
/// large. Throws Error (usage) if one pixel is too large too.
[[nodiscard]] std::string plot_png(const PlotGraph& graph);

}  // namespace attn::report
