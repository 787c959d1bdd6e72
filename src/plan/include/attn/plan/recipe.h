// How a value comes about, as a text that is the same in every graph of a model.
#pragma once

#include <optional>
#include <string>

#include "attn/graph/graph.h"

namespace attn::plan {

/// What a weight, or a value whose numbers are weights' numbers moved, joined or cast, is made of: "concat(axis=1)[…]".
/// Two values of one recipe, in graphs of one model, hold the same numbers. Nothing for other values.
[[nodiscard]] std::optional<std::string> recipe(const graph::Graph& graph, graph::ValueId value);

}  // namespace attn::plan
