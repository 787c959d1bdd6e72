// The layers of a model and their connections, for a plot.
#pragma once

#include "attn/keras/model.h"
#include "attn/report/plot.h"

namespace attn::library {

/// Returns the layers as a graph; `expand_nested` includes the layers inside nested models. Throws Error (bad_input) as
/// Model::summary does.
[[nodiscard]] report::PlotGraph layer_graph(const keras::Model& model, bool expand_nested);

}  // namespace attn::library
