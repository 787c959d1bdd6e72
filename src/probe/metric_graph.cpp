#include "metric_graph.h"

namespace attn::probe {

using graph::ValueId;

ValueId append_metric(graph::Graph& graph, ValueId logits, const Metric& metric) {
  graph::Builder builder(graph);
  const Shape shape = builder.shape(logits);
  const auto sum_of = [&](Id token) {
    graph::Slice slice;
    slice.ranges.emplace_back();
    if (shape.rank() == 3) slice.ranges.push_back({shape[1] - 1, shape[1], 1});
    slice.ranges.push_back({token, token + 1, 1});
    graph::Reduce sum{graph::ReduceFn::sum, {}, false};
    for (int axis = 0; axis < shape.rank(); ++axis) sum.axes.push_back(axis);
    ValueId one = builder.apply(slice, {logits});
    if (builder.dtype(one) != DType::float64) one = builder.cast(one, DType::float32);
    return builder.apply(sum, {one});
  };
  ValueId out = sum_of(metric.token);
  if (metric.versus) out = builder.binary(graph::BinaryFn::subtract, out, sum_of(*metric.versus));
  graph.outputs = {{"metric", out}};
  return out;
}

}  // namespace attn::probe
