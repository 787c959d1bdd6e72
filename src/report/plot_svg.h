// A graph of layers as a picture.
#pragma once

#include <string>

#include "attn/report/plot.h"

namespace attn::report {

/// An SVG document of its own, light or dark as its reader prefers, from top to bottom.
[[nodiscard]] std::string plot_svg(const PlotGraph& graph);

}  // namespace attn::report
