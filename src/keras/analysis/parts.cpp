#include "analysis/parts.h"

#include <map>
#include <set>

#include "model/input_layer.h"

namespace attn::keras {
namespace {

/// Returns the layers and operations inside a layer, in the order of summaries.
std::vector<Layer*> inner_layers(Layer& layer) {
  if (const auto* model = dynamic_cast<const Functional*>(&layer))
    return model->is_functional() ? model->operations() : model->layers();
  std::vector<Layer*> out;
  for (const Layer::Sublayer& sub : layer.sublayers()) out.push_back(sub.layer);
  return out;
}

class Dissection {
 public:
  explicit Dissection(ModelLowering& lowering) : lowering_(lowering), graph_(lowering.builder().graph()) {
    const std::vector<const Layer*>& callees = lowering.callees();
    for (std::size_t i = 0; i < callees.size(); ++i) calls_[callees[i]].push_back(static_cast<graph::LayerId>(i));
    for (const graph::ValueId id : graph_.inputs) inputs_[graph_.value(id).name].push_back(id);
  }

  /// Adds the contents of a layer at nesting depth `level`.
  void add_inside(Layer& layer, int level, bool nested) {
    const std::size_t first = parts.size();
    if (!layer.is_model()) add_groups(layer, level);
    for (Layer* inner : inner_layers(layer))
      if (seen_.insert(inner).second) add(*inner, level, nested && layer.is_model());
    if (parts.size() == first || level == 0) return;
    Part rest;
    // The remaining work of an attention layer, outside its projections, is called "attention". That of a nested model
    // are casts to its dtype.
    rest.name = is_attention(layer.info->role) ? "attention" : "(itself)";
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
    if (as_input(layer) != nullptr) {
      for (const graph::ValueId id : inputs_[layer.name]) part.output_shapes.push_back(graph_.value(id).shape);
    } else if (!part.calls.empty()) {
      for (const graph::ValueId id : graph_.layers[static_cast<std::size_t>(part.calls.back())].outputs)
        part.output_shapes.push_back(graph_.value(id).shape);
    }
    parts.push_back(std::move(part));
    add_inside(layer, level + 1, nested);
  }

  /// Returns "query" for a variable "query/kernel"; "" for a variable of the layer itself.
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

  ModelLowering& lowering_;
  graph::Graph& graph_;
  std::map<const Layer*, std::vector<graph::LayerId>> calls_;
  std::map<std::string, std::vector<graph::ValueId>> inputs_;  // input values of the graph, by name
  std::set<const Layer*> seen_;
};

}  // namespace

std::vector<Part> parts_of(Functional& model, ModelLowering& lowering) {
  Dissection dissection(lowering);
  dissection.add_inside(model, 0, true);
  return std::move(dissection.parts);
}

}  // namespace attn::keras
