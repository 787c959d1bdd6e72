// Metrics: numbers that Keras reports beside the loss.
#pragma once

#include "attn/keras/loss_graph.h"
#include "config/json.h"
#include "training/metric_class.h"

namespace attn::keras {

/// Lowers a metric, given by its name or its serialized object. Throws Error (bad_input).
[[nodiscard]] LossGraph::Metric lower_metric(const Ref& ref, const MetricCall& call);

}  // namespace attn::keras
