// Passes from graph to graph, on which all operations are built: capture, replace, scale and add at a value, gradients.
//
// They use operations of the closed set, so that every backend, dtype and decoder has them. Values keep their ids. The
// changed value is the last of graph.values, and takes the place of the original for all later readers and outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attn/base/tensor.h"
#include "attn/gradients/gradients.h"
#include "attn/graph/graph.h"

namespace attn::probe {

/// Adds the value to the graph's outputs.
[[nodiscard]] graph::Graph capture(graph::Graph graph, graph::ValueId value, std::string name);

/// The name of the inputs that replace() adds, which no model's own input has.
inline constexpr std::string_view kReplacement = "probe/replacement";

/// Replaces the value by a new input, the last of graph.inputs, with the value's shape and dtype. Everything that only
/// the value needed becomes dead.
[[nodiscard]] graph::Graph replace(graph::Graph graph, graph::ValueId value);

/// Multiplies the value by a factor.
[[nodiscard]] graph::Graph scale(graph::Graph graph, graph::ValueId value, double factor);

/// Appends the gradients of a scalar with respect to values, which become the outputs. Those that the scalar does not
/// depend on have none.
[[nodiscard]] gradients::Differentiated gradients_of(graph::Graph graph, graph::ValueId scalar,
                                                     std::span<const graph::ValueId> values);

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
