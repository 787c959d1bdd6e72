#include "anatomy.h"

#include <algorithm>
#include <map>
#include <set>

#include "table.h"

namespace attn::keras {
namespace {

/// The layers and operations inside a layer, in the order of summaries.
std::vector<Layer*> inner_layers(Layer& layer) {
  if (dynamic_cast<Sequential*>(&layer) != nullptr) return layer.layers();
  if (const auto* model = dynamic_cast<Functional*>(&layer)) return model->operations();
  std::vector<Layer*> out;
  for (const Layer::Sublayer& sub : layer.sublayers()) out.push_back(sub.layer);
  return out;
}

class Dissection {
 public:
  explicit Dissection(Lowering& lowering) : lowering_(lowering), graph_(lowering.builder().graph()) {
    const std::vector<const Layer*>& callees = lowering.callees();
    for (std::size_t i = 0; i < callees.size(); ++i) calls_[callees[i]].push_back(static_cast<graph::LayerId>(i));
    for (const graph::ValueId id : graph_.inputs) inputs_[graph_.value(id).name].push_back(id);
  }

  /// What lies inside a layer, `level` deep.
  void add_inside(Layer& layer, int level, bool nested) {
    const std::size_t first = parts.size();
    if (!is_model(layer)) add_groups(layer, level);
    for (Layer* inner : inner_layers(layer))
      if (seen_.insert(inner).second) add(*inner, level, nested && is_model(layer));
    if (parts.size() == first || is_model(layer)) return;
    Part rest;
    // What an attention layer does with its projections is what its name says.
    rest.name = layer.class_name().find("Attention") != std::string_view::npos ? "attention" : "(itself)";
    rest.level = level;
    rest.rest = true;
    parts.push_back(std::move(rest));
  }

  std::vector<Part> parts;

 private:
  void add(Layer& layer, int level, bool nested) {
    Part part;
    part.name = layer.name;
    part.class_name = layer.class_name();
    part.level = level;
    part.nested = nested;
    part.operation = layer.is_operation();
    part.layer = &layer;
    part.calls = calls_[&layer];
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      if (group_of(layer, i).empty()) add_weight(part, layer, i, layer.weights[i].path);
    if (dynamic_cast<const InputLayer*>(&layer) != nullptr) {
      for (const graph::ValueId id : inputs_[layer.name]) part.output_shapes.push_back(graph_.value(id).shape);
    } else if (!part.calls.empty()) {
      for (const graph::ValueId id : graph_.layers[static_cast<std::size_t>(part.calls.back())].outputs)
        part.output_shapes.push_back(graph_.value(id).shape);
    }
    parts.push_back(std::move(part));
    add_inside(layer, level + 1, nested);
  }

  /// "query" of a variable "query/kernel"; "" of one that is the layer's own.
  static std::string group_of(const Layer& layer, std::size_t weight) {
    const std::string& path = layer.weights[weight].path;
    const auto slash = path.find('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }

  void add_groups(Layer& layer, int level) {
    std::map<std::string, std::size_t> groups;
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      const std::string group = group_of(layer, i);
      if (group.empty()) continue;
      const auto [it, added] = groups.emplace(group, parts.size());
      if (added) {
        parts.emplace_back();
        parts.back().name = group;
        parts.back().level = level;
      }
      add_weight(parts[it->second], layer, i, layer.weights[i].path.substr(group.size() + 1));
    }
  }

  void add_weight(Part& part, const Layer& layer, std::size_t index, std::string name) {
    const graph::ValueId value = lowering_.weight(layer, static_cast<int>(index));
    part.weights.push_back(graph_.value(value).weight);
    part.weight_names.push_back(std::move(name));
  }

  Lowering& lowering_;
  graph::Graph& graph_;
  std::map<const Layer*, std::vector<graph::LayerId>> calls_;
  std::map<std::string, std::vector<graph::ValueId>> inputs_;  // by name
  std::set<const Layer*> seen_;
};

}  // namespace

namespace {
constexpr std::int32_t kNone = graph::kNone;
using graph::at;
}  // namespace

Owners::Owners(const Anatomy& anatomy)
    : of_layer_(anatomy.graph.layers.size(), kNone), of_weight_(anatomy.graph.weights.size(), kNone) {
  const std::vector<Part>& parts = anatomy.parts;
  std::vector<std::int32_t> around;  // the part at each level
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
  // A layer that is no part is inside one.
  for (std::size_t i = 0; i < of_layer_.size(); ++i) {
    auto layer = static_cast<graph::LayerId>(i);
    while (layer != kNone && of_layer_[at(layer)] == kNone) layer = anatomy.graph.layers[at(layer)].parent;
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

std::vector<Part> parts_of(Functional& model, Lowering& lowering) {
  Dissection dissection(lowering);
  dissection.add_inside(model, 0, true);
  return std::move(dissection.parts);
}

}  // namespace attn::keras
