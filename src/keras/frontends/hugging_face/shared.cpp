#include "frontends/hugging_face/shared.h"

namespace attn::keras {
namespace {

/// Returns the value, unless it states that positions are not scaled.
std::optional<Ref> scaling_in(const std::optional<Ref>& found) {
  if (!found || !found->is_object()) return std::nullopt;
  for (const char* key : {"rope_type", "type"})
    if (const auto type = found->find(key); type && !type->is_null())
      return type->text() == "default" ? std::nullopt : found;
  return std::nullopt;
}

}  // namespace

std::optional<Ref> rope_parameters(const ConfigMap& map) {
  const auto found = map.find("rope_parameters");
  return found && found->is_object() ? found : std::nullopt;
}

std::optional<Ref> rope_scaling(const ConfigMap& map) {
  if (const auto scaling = scaling_in(map.find(kRopeScaling))) return scaling;
  return map.as_keras_hub() ? std::nullopt : scaling_in(rope_parameters(map));
}

std::string rope_type(const Ref& scaling) {
  const auto type = scaling.find("rope_type");
  return (type && !type->is_null() ? *type : scaling["type"]).text();
}

void rope_theta(ConfigMap& map, std::string_view keras, double fallback) {
  if (!map.reading()) return map.put("rope_theta", map.of_keras(keras));
  std::optional<Ref> theta = map.find("rope_theta");
  if (const auto parameters = rope_parameters(map))
    if (const auto inside = parameters->find("rope_theta"); inside && !inside->is_null()) theta = inside;
  map.put(keras, theta ? theta->json() : Json(fallback), theta ? std::string_view(theta->pointer()).substr(1) : "");
}

void activation_beside_tanh_gelu(ConfigMap& map) {
  constexpr const char* kKey = "hidden_act";
  if (!map.reading()) {
    const Json own = map.of_keras("activation");
    return map.put(kKey, own.is_string() ? own : Json("gelu_new"));
  }
  const auto found = map.find(kKey);
  const std::string name = found ? found->text() : "gelu";
  const bool by_tanh = name == "gelu_new" || name == "gelu_fast" || name == kTanhGelu;
  if (!map.as_keras_hub() && !by_tanh) map.put("activation", name, found ? kKey : "");
}

}  // namespace attn::keras
