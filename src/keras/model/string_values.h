// Which values of a graph stand for strings.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/text/encoding.h"
#include "classes/layer.h"

namespace attn::keras {

using Strings = std::map<graph::ValueId, std::shared_ptr<const text::Lookup>>;

/// Are a layer's results strings?
[[nodiscard]] bool gives_texts(const Layer& layer);

/// What layers gave as strings, and what was moved of it. `callees` are the layers of graph.layers. Throws Error
/// (bad_input) where a layer computes with it.
[[nodiscard]] Strings strings_of(const graph::Graph& graph, const std::vector<const Layer*>& callees);

}  // namespace attn::keras
