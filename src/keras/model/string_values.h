// Determines which values of a graph represent strings.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/text/encoding.h"
#include "classes/layer.h"

namespace attn::keras {

using Strings = std::map<graph::ValueId, std::shared_ptr<const text::Lookup>>;

/// Returns whether a layer's results are strings.
[[nodiscard]] bool gives_texts(const Layer& layer);

/// Returns the string results of layers, and the values that only rearrange these. `callees` are the layers of
/// graph.layers. Throws Error (bad_input) if a layer computes with strings.
[[nodiscard]] Strings strings_of(const graph::Graph& graph, const std::vector<const Layer*>& callees);

}  // namespace attn::keras
