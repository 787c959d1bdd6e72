// A plot of a model's layers as SVG.
#pragma once

#include <string>

#include "attn/report/plot.h"

namespace attn::report {

/// Returns an SVG document in the reader's light or dark theme, from top to bottom.
[[nodiscard]] std::string plot_svg(const PlotGraph& graph);

}  // namespace attn::report
