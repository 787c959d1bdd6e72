#include "model/names.h"

namespace attn::keras {
namespace {

void add_names(const Functional& model, const std::string& prefix, std::vector<std::string>& out) {
  const auto members = model.is_functional() ? model.operations() : model.layers();
  for (const Layer* layer : members) out.push_back(prefix + layer->name);
  for (const Layer* layer : members)
    if (const auto* nested = dynamic_cast<const Functional*>(layer))
      add_names(*nested, prefix + layer->name + "/", out);
}

}  // namespace

std::vector<std::string> layer_names(const Functional& model) {
  std::vector<std::string> names;
  add_names(model, "", names);
  return names;
}

Layer* find_layer(const Functional& model, std::string_view name) {
  if (Layer* found = model.find(name)) return found;
  for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    auto* nested = dynamic_cast<const Functional*>(model.find(name.substr(0, slash)));
    if (nested != nullptr)
      if (Layer* found = find_layer(*nested, name.substr(slash + 1))) return found;
  }
  return nullptr;
}

}  // namespace attn::keras
