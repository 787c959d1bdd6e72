// The metric as a value of a graph, for gradients. Private to the module.
#pragma once

#include "attn/probe/measure.h"

namespace attn::probe {

/// Appends the metric, summed over the rows of the batch: a scalar. Returns its value. The graph keeps no outputs.
[[nodiscard]] graph::ValueId append_metric(graph::Graph& graph, graph::ValueId logits, const Metric& metric);

}  // namespace attn::probe
