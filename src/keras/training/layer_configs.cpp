#include "training/layer_configs.h"

#include <string>

#include "classes/reading.h"

namespace attn::keras {

const Json& LayerConfigs::of(const Layer& layer) {
  const auto [found, is_new] = configs_.try_emplace(&layer);
  // Writing a config does not change the layer.
  if (is_new) found->second = layer_config(const_cast<Layer&>(layer), kNewest);
  return found->second;
}

const Json* LayerConfigs::of_variable(const Variable& variable, std::string_view what) {
  const std::string& path = variable.spec().path;
  std::string name = path.substr(path.rfind('/') + 1);
  // "lora_kernel_a" has the regularizer of "kernel".
  if (name.starts_with("lora_")) name = name.substr(5, name.size() - 7);
  for (const auto& [key, value] : of(variable.layer).items()) {
    if (!key.ends_with(what) || !value.is_object()) continue;
    const std::string own = key.substr(0, key.size() - what.size());
    if (name == own || name == own + "_kernel") return &value;
  }
  return nullptr;
}

}  // namespace attn::keras
