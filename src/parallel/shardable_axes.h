// The axes along which a value can be sharded to save work or memory. Private to the
// module.
#pragma once

#include <map>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/kind.h"

namespace attn::parallel {

/// Maps an axis to its number of groups of indices that stay together: heads, or single indices.
using ShardableAxes = std::map<int, Dim>;

/// Returns the shardable axes of each value of the graph.
[[nodiscard]] std::vector<ShardableAxes> find_shardable_axes(const graph::Graph& graph, Kind kind, int ranks,
                                                             const std::vector<bool>& fixed);

/// The position of an axis in the output shape of a Reshape. It is `factor` times as long there, or, if `factor` is 1,
/// `divisor` times as short. `axis` is kNone if the indices do not stay contiguous.
struct MovedAxis {
  int axis = graph::kNone;
  Dim factor = 1, divisor = 1;
};
[[nodiscard]] MovedAxis axis_after_reshape(const Shape& from, const Shape& to, int axis);

/// Returns the axis of an input with `shape` that broadcasts to the output's axis (NumPy); kNone if the input is
/// repeated along it.
[[nodiscard]] int axis_below(const Shape& output, const Shape& shape, int axis);

}  // namespace attn::parallel
