// Metrics: what is told of a model beside its loss.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "config/json.h"
#include "training/loss.h"

namespace attn::keras {

/// A metric from its name or serialized object, of targets as they are given and predictions. `weights` are those of
/// the mask and the samples together. Throws Error (bad_input).
[[nodiscard]] LossGraph::Metric metric(graph::Builder& b, const Ref& ref, graph::ValueId y_true, graph::ValueId y_pred,
                                       std::optional<graph::ValueId> mask, std::optional<graph::ValueId> weights);

}  // namespace attn::keras
