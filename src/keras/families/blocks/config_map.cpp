#include "families/blocks/config_map.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"

namespace attn::keras {

void ConfigMap::put(std::string_view key, Json value, std::string_view origin) {
  result_[std::string(key)] = std::move(value);
  if (reading()) origins_["/" + std::string(key)] = origin.empty() ? "" : "/" + std::string(origin);
}

std::optional<Ref> ConfigMap::find(std::string_view key) const {
  auto found = source().find(key);
  return found && !found->is_null() ? found : std::nullopt;
}

std::int64_t ConfigMap::integer(std::string_view key, std::optional<std::int64_t> fallback) const {
  const auto found = find(key);
  if (!found && fallback) return *fallback;
  return (found ? *found : source()[key]).integer_from(1);
}

bool ConfigMap::flag(std::string_view key, bool fallback) const {
  const auto found = find(key);
  return found ? found->boolean() : fallback;
}

double ConfigMap::number(std::string_view key, double fallback) const {
  const auto found = find(key);
  return found ? found->number() : fallback;
}

Json ConfigMap::of_keras(std::string_view key) const {
  const auto found = keras_->find(std::string(key));
  return found == keras_->end() ? Json() : *found;
}

void ConfigMap::same(std::string_view keras, std::string_view hugging_face, const std::optional<Json>& fallback) {
  if (!reading()) {
    Json value = of_keras(keras);
    if (value.is_null() && fallback) value = *fallback;
    return put(hugging_face, std::move(value));
  }
  const auto found = find(hugging_face);
  if (!found && fallback) return put(keras, *fallback);
  put(keras, (found ? *found : source()[hugging_face]).json(), hugging_face);
}

void ConfigMap::nullable(std::string_view keras, std::string_view hugging_face, const Json& fallback) {
  if (!reading()) return put(hugging_face, of_keras(keras));
  const auto found = source().find(hugging_face);
  put(keras, found ? found->json() : fallback, found ? hugging_face : "");
}

void ConfigMap::unread(std::string_view keras, std::string_view hugging_face, const Json& fallback) {
  if (!as_keras_hub_) same(keras, hugging_face, fallback);
}

void ConfigMap::times(std::string_view keras, std::string_view hugging_face, std::int64_t factor) {
  if (!reading()) return put(hugging_face, of_keras(keras).get<std::int64_t>() / factor);
  const Ref value = source()[hugging_face];
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (value.integer_from(1) > kMost) value.fail("a size of over 2^40 is not accepted");
  put(keras, value.integer() * factor, hugging_face);
}

void ConfigMap::encoder(std::string_view keras, std::string_view hugging_face, std::string_view class_name,
                        void (*sizes)(ConfigMap& map)) {
  if (!reading()) {
    const Json whole = of_keras(keras);
    ConfigMap map(whole.at("config"));
    sizes(map);
    return put(hugging_face, std::move(map.result()));
  }
  ConfigMap map(source()[hugging_face], as_keras_hub_, is_converted_);
  sizes(map);
  const std::string name(class_name), from = "/" + std::string(hugging_face);
  put(keras, {{"class_name", name}, {"config", std::move(map.result())}, {"registered_name", "keras_hub>" + name}},
      hugging_face);
  for (const auto& [key, origin] : map.origins()) origins_["/" + std::string(keras) + "/config" + key] = from + origin;
}

void ConfigMap::square(std::string_view keras, std::string_view hugging_face,
                       const std::optional<std::int64_t>& fallback) {
  if (!reading()) {
    const Json shape = of_keras(keras);
    if (shape.at(0) != shape.at(1))
      throw bad_input("a folder of Hugging Face has square images, and {} is {}", keras, shape.dump());
    return put(hugging_face, shape.at(0));
  }
  const std::int64_t side = integer(hugging_face, fallback);
  put(keras, {side, side, 3}, hugging_face);
}

void ConfigMap::fixed(std::string_view hugging_face, std::initializer_list<Json> accepted) {
  if (!reading()) return put(hugging_face, *accepted.begin());
  const auto found = find(hugging_face);
  if (!found || std::find(accepted.begin(), accepted.end(), found->json()) != accepted.end()) return;
  refuse(*found, found->kind());
}

void ConfigMap::always(std::string_view hugging_face, const Json& value, const Json& fallback) {
  if (!reading()) return put(hugging_face, value);
  const auto found = find(hugging_face);
  if ((found ? found->json() : fallback) == value) return;
  const std::string what = '\'' + std::string(hugging_face) + "': " + (found ? found->kind() : fallback.dump());
  refuse(found ? *found : source(), what);
}

void ConfigMap::refuse(const Ref& value, const std::string& what) const {
  if (as_keras_hub_) return;
  if (!is_converted_) unsupported(value, what);
  auto error = value.document().error(value.pointer(), false,
                                      "KerasHub's class of this family does not compute " + what +
                                          "; the model can be opened like in KerasHub, which ignores it");
  error.about("compat");
  throw error;
}

void ConfigMap::unsupported(const Ref& value, const std::string& what) const {
  throw value.document().error(value.pointer(), false, "KerasHub's class of this family does not compute " + what);
}

}  // namespace attn::keras
