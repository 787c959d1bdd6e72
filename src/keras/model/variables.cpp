#include "model/variables.h"

#include <algorithm>
#include <utility>

namespace attn::keras {
namespace {

/// Visits a layer and all layers below it once, with the prefixes of its variables.
template <typename Visit>
void walk(Layer& layer, const std::string& path, const std::string& store, std::set<const Layer*>& seen,
          Visit&& visit) {
  if (!seen.insert(&layer).second) return;
  visit(layer, path, store);
  for (const Layer::Sublayer& sub : layer.sublayers())
    walk(*sub.layer, sub.detached ? sub.path : path + sub.path, store + sub.store, seen, visit);
}

}  // namespace

void visit_layers(Layer& root, const std::function<void(Layer&)>& visit) {
  std::set<const Layer*> seen;
  walk(root, "", "", seen, [&](Layer& layer, const auto&, const auto&) { visit(layer); });
}

void visit_places(Layer& root, const std::function<void(Layer&, const std::string& store)>& visit) {
  std::set<const Layer*> seen, ones;
  walk(root, "", "", seen, [&](Layer& layer, const auto&, const std::string& store) {
    if (ones.insert(root.one(layer)).second) visit(layer, store);
  });
}

graph::WeightSpec Variable::named() const {
  graph::WeightSpec out = spec();
  out.path = out.path.starts_with('/') ? out.path.substr(1) : path + out.path;
  out.store_path = store + out.store_path;
  out.store_again = store_again;
  return out;
}

void visit_variables(Layer& root, const std::function<void(const Variable&)>& visit) {
  std::set<const Layer*> seen;
  std::set<const Layer*> ones;  // if several layers are one object, the first represents all
  std::set<std::pair<const Layer*, int>> borrowed;
  walk(root, root.is_functional() ? "" : root.name + "/", "", seen,
       [&](Layer& layer, const std::string& path, const std::string& store) {
         if (!ones.insert(root.one(layer)).second) return;
         if (const auto index = layer.borrowed_weight()) {
           const Layer::Sublayer owner = layer.sublayers().front();
           if (!seen.contains(owner.layer) && borrowed.emplace(owner.layer, *index).second)
             visit({*owner.layer, *index, owner.detached ? owner.path : path + owner.path, store + owner.store,
                    store + "vars/0"});
         }
         for (int i = 0; i < static_cast<int>(layer.weights.size()); ++i)
           if (!borrowed.contains({&layer, i})) visit({layer, i, path, store, ""});
       });
}

bool is_trainable(const Layer& layer) { return layer.trainable || (layer.is_model() && !layer.is_functional()); }

std::optional<std::int64_t> most_positions(Layer& root) {
  std::optional<std::int64_t> most;
  visit_layers(root, [&](const Layer& layer) {
    if (const auto positions = layer.most_positions()) most = std::min(most.value_or(*positions), *positions);
  });
  return most;
}

std::vector<graph::WeightSpec> variables_of(Layer& root) {
  std::set<const Layer*> frozen;
  if (root.is_model())
    for (Layer* layer : root.layers())
      if (!is_trainable(*layer)) visit_layers(*layer, [&](Layer& inner) { frozen.insert(&inner); });
  std::vector<graph::WeightSpec> specs;
  visit_variables(root, [&](const Variable& variable) {
    specs.push_back(variable.named());
    specs.back().in_frozen_layer = frozen.contains(&variable.layer);
  });
  return specs;
}

}  // namespace attn::keras
