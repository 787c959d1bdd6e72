// Which values of a graph stand for strings.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/text_stage.h"
#include "classes/layer.h"
#include "model/functional.h"

namespace attn::keras {

using Strings = std::map<graph::ValueId, std::shared_ptr<const text::Lookup>>;

/// What layers gave as strings, and what was moved of it. `callees` are the layers of graph.layers. Throws Error
/// (bad_input) where a layer computes with it.
[[nodiscard]] Strings strings_of(const graph::Graph& graph, const std::vector<const Layer*>& callees);

/// The outputs among them.
[[nodiscard]] std::vector<TextOutput> text_outputs(Functional& model);

}  // namespace attn::keras
