// Along which axes a value can be made in parts, each rank its own, so that work or memory is saved. Private to the
// room.
#pragma once

#include <map>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/kind.h"

namespace attn::parallel {

/// Axis → how many groups of indices that belong together it has: heads, or as many as indices.
using Offers = std::map<int, Dim>;

/// By value of the graph.
[[nodiscard]] std::vector<Offers> find_offers(const graph::Graph& graph, Kind kind, int ranks,
                                              const std::vector<bool>& fixed);

/// Where an axis of a shape is in the shape that a Reshape makes of it, and by which factor it is longer there (or
/// shorter: then `factor` is 1 and `divisor` more). `axis` is kNone where its indices do not stay in a row of their
/// own.
struct Moved {
  int axis = graph::kNone;
  Dim factor = 1, divisor = 1;
};
[[nodiscard]] Moved moved_by_reshape(const Shape& from, const Shape& to, int axis);

/// The axis of input `shape` that the output's axis is by NumPy's broadcasting; kNone where it is repeated along it.
[[nodiscard]] int axis_below(const Shape& output, const Shape& shape, int axis);

}  // namespace attn::parallel
