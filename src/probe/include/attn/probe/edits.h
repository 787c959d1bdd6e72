// Four passes from graph to graph, on which all operations are built: capture, replace, scale and add at a value.
//
// They use operations of the closed set, so that every backend, dtype and decoder has them. Values keep their ids. The
// changed value is the last of graph.values, and takes the place of the original for all later readers and outputs.
#pragma once

#include <cstdint>
#include <string>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::probe {

/// Adds the value to the graph's outputs.
[[nodiscard]] graph::Graph capture(graph::Graph graph, graph::ValueId value, std::string name);

/// Replaces the value by a new input, the last of graph.inputs, with the value's shape and dtype. Everything that only
/// the value needed becomes dead.
[[nodiscard]] graph::Graph replace(graph::Graph graph, graph::ValueId value, std::string input);

/// Multiplies the value by a factor.
[[nodiscard]] graph::Graph scale(graph::Graph graph, graph::ValueId value, double factor);

/// The positions of a value (B,T,D) that are changed: those from `first` on, where `before`, a scalar int32 input,
/// counts the positions of earlier passes.
struct FromPosition {
  graph::ValueId before = graph::kNone;
  std::int64_t first = 0;
};

/// Adds an array that broadcasts to the value's shape, at all positions or at some.
[[nodiscard]] graph::Graph add(graph::Graph graph, graph::ValueId value, const Tensor& addend,
                               const FromPosition& from = {});

}  // namespace attn::probe
