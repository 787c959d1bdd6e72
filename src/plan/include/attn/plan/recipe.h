// The derivation of a value as a text that is the same in every graph of a model.
#pragma once

#include <optional>
#include <string>

#include "attn/graph/graph.h"

namespace attn::plan {

/// Returns the derivation of a weight, or of a value that only moves, joins or casts weights: "concat(axis=1)[…]". Two
/// values with the same recipe, in graphs of one model, hold the same numbers. Nothing for other values.
[[nodiscard]] std::optional<std::string> recipe(const graph::Graph& graph, graph::ValueId value);

}  // namespace attn::plan
