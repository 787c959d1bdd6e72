#include "attn/keras/anatomy.h"

#include <algorithm>
#include <utility>

namespace attn::keras {
namespace {
using graph::at;
using graph::kNone;
}  // namespace

Owners::Owners(const Anatomy& anatomy)
    : of_layer_(anatomy.graph.layers.size(), kNone), of_weight_(anatomy.graph.weights.size(), kNone) {
  const std::vector<Part>& parts = anatomy.parts;
  std::vector<std::int32_t> around;  // the current part at each level
  parent_.resize(parts.size(), kNone);
  rest_.resize(parts.size(), kNone);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = static_cast<std::int32_t>(i);
    is_group_.push_back(parts[i].calls.empty());
    around.resize(at(parts[i].level) + 1);
    around.back() = part;
    if (parts[i].level > 0) parent_[i] = around[at(parts[i].level) - 1];
    paths_.push_back(parent_[i] == kNone ? parts[i].name : paths_[at(parent_[i])] + "/" + parts[i].name);
    if (parts[i].rest && parent_[i] != kNone) rest_[at(parent_[i])] = part;
    for (const graph::LayerId call : parts[i].calls) of_layer_[at(call)] = part;
    for (const std::int32_t weight : parts[i].weights) of_weight_[at(weight)] = part;
  }
  // Returns the layer or its nearest caller that has a part.
  const auto assigned_from = [&](graph::LayerId layer) {
    while (layer != kNone && of_layer_[at(layer)] == kNone) layer = anatomy.graph.layers[at(layer)].parent;
    return layer;
  };
  // A part may call a layer of another part: the head of a masked language model multiplies by the backbone's
  // embedding. Such a call belongs to the calling part.
  std::vector<std::int32_t> calls = of_layer_;
  for (std::size_t i = 0; i < of_layer_.size(); ++i) {
    const graph::LayerId caller = assigned_from(anatomy.graph.layers[i].parent);
    if (caller == kNone || of_layer_[i] == kNone) continue;
    std::int32_t enclosing = of_layer_[i];
    while (enclosing != kNone && enclosing != of_layer_[at(caller)]) enclosing = parent_[at(enclosing)];
    if (enclosing == kNone) calls[i] = kNone;
  }
  of_layer_ = std::move(calls);
  // A layer that is not a part belongs to the innermost enclosing part.
  for (std::size_t i = 0; i < of_layer_.size(); ++i) {
    const graph::LayerId layer = assigned_from(static_cast<graph::LayerId>(i));
    if (layer != kNone) of_layer_[i] = of_layer_[at(layer)];
  }
  trace_weights(anatomy.graph);
}

void Owners::trace_weights(const graph::Graph& graph) {
  weight_.resize(graph.values.size(), kNone);
  std::vector<bool> fixed(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const graph::Value& value = graph.values[i];
    fixed[i] = value.kind == graph::ValueKind::weight || value.kind == graph::ValueKind::constant;
    if (value.kind == graph::ValueKind::weight) weight_[i] = value.weight;
  }
  for (const graph::Node& node : graph.nodes) {
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](auto id) { return fixed[at(id)]; })) continue;
    for (const graph::ValueId output : node.outputs) {
      fixed[at(output)] = true;
      for (const graph::ValueId input : node.inputs)
        if (weight_[at(input)] != kNone) weight_[at(output)] = weight_[at(input)];
    }
  }
}

std::int32_t Owners::of(const graph::Node& node) const {
  if (node.layer == kNone) return kNone;
  const std::int32_t part = of_layer_[at(node.layer)];
  if (part == kNone) return kNone;
  for (const graph::ValueId input : node.inputs) {
    const std::int32_t group = weight_[at(input)] == kNone ? kNone : of_weight_[at(weight_[at(input)])];
    if (group != kNone && is_group_[at(group)] && parent_[at(group)] == part) return group;
  }
  return rest_[at(part)] == kNone ? part : rest_[at(part)];
}

}  // namespace attn::keras
