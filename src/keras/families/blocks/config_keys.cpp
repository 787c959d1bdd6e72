#include "families/blocks/config_keys.h"

#include "attn/base/error.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

/// Returns the value `found`, or empty if it states that positions are not scaled.
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

void linear_scaling(ConfigMap& map) {
  constexpr const char* kFactor = "rope_scaling_factor";
  if (!map.reading()) {
    const Json factor = map.of_keras(kFactor);
    if (factor.is_number() && factor != 1.0) map.put(kRopeScaling, {{"rope_type", "linear"}, {"factor", factor}});
    return;
  }
  const auto scaling = rope_scaling(map);
  if (!scaling) return;
  if (rope_type(*scaling) != "linear") return map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
  if (map.as_keras_hub()) return;
  const Ref factor = (*scaling)["factor"];
  if (factor.number() <= 0.0) factor.fail("expected a number above 0");
  map.put(kFactor, factor.json(), kRopeScaling);
}

void decoder_sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_query_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("num_key_value_heads", "num_key_value_heads", map.reading() ? map.result()["num_query_heads"] : Json());
}

bool has_own_heads(const ConfigMap& map) {
  const auto head_dim = map.find("head_dim");
  return head_dim && head_dim->integer_from(1) != map.integer("hidden_size") / map.integer("num_attention_heads");
}

void even_heads(ConfigMap& map) {
  if (!map.reading()) {
    const auto heads = map.of_keras("num_query_heads").get<std::int64_t>();
    return map.put("head_dim", map.of_keras("hidden_dim").get<std::int64_t>() / heads);
  }
  if (has_own_heads(map))
    map.unsupported(*map.find("head_dim"), "heads of another size than hidden_size / num_attention_heads");
}

bool slides(ConfigMap& map) {
  if (!map.flag("use_sliding_window", false)) return false;
  const std::int64_t first = map.find("max_window_layers") ? map.find("max_window_layers")->integer_from(0) : 0;
  if (first >= map.integer("num_hidden_layers")) return false;
  if (first > 0) map.refuse(*map.find("max_window_layers"), "windows in only some layers");
  return true;
}

void window_size(ConfigMap& map) {
  constexpr const char *kKeras = "sliding_window_size", *kKey = "sliding_window";
  constexpr std::int64_t kDefault = 4096;
  const bool is_off = map.reading() && map.find(kKey) && map.find(kKey)->json() == 0;
  if (is_off && !map.flag("use_sliding_window", false)) return map.put(kKeras, kDefault, kKey);
  map.same(kKeras, kKey, kDefault);
}

void four_times_as_wide(ConfigMap& map, const char* width) {
  constexpr const char* kKeras = "intermediate_dim";
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (map.reading()) {
    if (map.integer(width) > kMost) map.find(width)->fail("a size of over 2^40 is not accepted");
    return map.put(kKeras, 4 * map.integer(width), width);
  }
  const auto inner = map.of_keras(kKeras).get<std::int64_t>(), outer = map.of_keras("hidden_dim").get<std::int64_t>();
  if (inner > 4 * outer)
    throw bad_input("transformers has this family with feed-forward layers of 4 × {} = {} features, and {} are more",
                    outer, 4 * outer, inner);
}

void activation_beside_tanh_gelu(ConfigMap& map, const char* fallback, bool is_stated) {
  constexpr const char* kKey = "hidden_act";
  if (!map.reading()) {
    const Json own = map.of_keras("activation");
    return map.put(kKey, own.is_string() ? own : Json("gelu_new"));
  }
  const auto found = map.find(kKey);
  const std::string name = found ? found->text() : fallback;
  const bool by_tanh = name == "gelu_new" || name == "gelu_fast" || name == kTanhGelu;
  if (map.as_keras_hub() || (by_tanh && !is_stated)) return;
  map.put("activation", by_tanh ? gelu_approximate() : Json(name), found ? kKey : "");
}

}  // namespace attn::keras
