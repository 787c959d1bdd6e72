// Metrics of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "config/json.h"
#include "training/loss.h"

namespace attn::keras {

/// Lowers a metric, given by name or serialized object, for the original targets and predictions. `weights` combine the
/// mask and the sample weights. Throws Error (bad_input).
[[nodiscard]] LossGraph::Metric metric(graph::Builder& b, const Ref& ref, graph::ValueId y_true, graph::ValueId y_pred,
                                       std::optional<graph::ValueId> mask, std::optional<graph::ValueId> weights);

}  // namespace attn::keras
