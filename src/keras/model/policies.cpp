#include "model/policies.h"

#include <algorithm>

#include "model/variables.h"

namespace attn::keras {
namespace {

/// Collects the quantized layers below `layer`. The sublayers of a layer are in reverse order of creation.
void collect(Layer& layer, bool is_top, Json& out, const Json& source) {
  const auto add = [&](const std::string& path, const Quantization& how) {
    DTypePolicy policy;
    policy.quantize(how);
    Json json = policy.json();
    json["config"]["source_name"] = source;
    out[path] = std::move(json);
  };
  if (!is_top && layer.policy.quantization && !layer.weights.empty() && layer.quantizes())
    add(layer.policy.path, *layer.policy.quantization);
  for (auto it = layer.quantized_parts.rbegin(); it != layer.quantized_parts.rend(); ++it) add(it->first, it->second);
  std::vector<Layer::Sublayer> inner = layer.sublayers();
  if (!layer.is_functional()) std::reverse(inner.begin(), inner.end());
  for (const Layer::Sublayer& sub : inner) collect(*sub.layer, false, out, source);
}

}  // namespace

std::shared_ptr<const PolicyMap> policies_in(Layer& layer, bool names_default) {
  if (layer.policy.map) return nullptr;
  const Json source = names_default ? Json(layer.policy.source_name()) : Json();
  Json policies = Json::object();
  collect(layer, true, policies, source);
  if (policies.empty()) return nullptr;
  auto map = std::make_shared<PolicyMap>();
  map->json = {{"module", "keras.dtype_policies"},
               {"class_name", "DTypePolicyMap"},
               {"config", {{"default_policy", source}, {"policy_map", std::move(policies)}}},
               {"registered_name", nullptr}};
  return map;
}

void state_policies(Layer& root) {
  visit_layers(root, [](Layer& layer) {
    if (layer.is_model() || layer.is_operation() || layer.quantizes()) return;
    // The config does not contain layers that other layers create.
    if (layer.policy.path != layer.name) return;
    if (auto map = policies_in(layer, true)) layer.policy.map = std::move(map);
  });
}

}  // namespace attn::keras
