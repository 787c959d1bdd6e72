// The axes along which a value can be sharded to save work or memory. Private to the
// module.
#pragma once

#include <map>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/kind.h"

namespace attn::parallel {

/// Axis → its number of groups of indices that stay together: heads, or every index on its own.
using ShardableAxes = std::map<int, Dim>;

/// Returns the shardable axes of each value of the graph.
[[nodiscard]] std::vector<ShardableAxes> find_shardable_axes(const graph::Graph& graph, Kind kind, int ranks,
                                                             const std::vector<bool>& fixed);

/// The position of an axis in the output shape of a Reshape, and the factor by which it is longer there (if
/// it is shorter, `factor` is 1 and `divisor` is above 1). `axis` is kNone if its indices do not stay
/// contiguous.
struct Moved {
  int axis = graph::kNone;
  Dim factor = 1, divisor = 1;
};
[[nodiscard]] Moved moved_by_reshape(const Shape& from, const Shape& to, int axis);

/// The axis of input `shape` that broadcasts to the output's axis (NumPy); kNone if the input is repeated along it.
[[nodiscard]] int axis_below(const Shape& output, const Shape& shape, int axis);

}  // namespace attn::parallel
