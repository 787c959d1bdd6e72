#include "archive_config.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace attn::keras {
namespace {

using Names = std::map<std::string, std::string>;

/// The operations that compute_mask of Keras's layers creates.
constexpr std::array<std::string_view, 9> kMaskOperations = {
    "any", "concatenate", "expand_dims", "logical_or", "not_equal", "ones_like", "squeeze", "where", "zeros_like"};

/// Returns whether it is the name of such an operation, possibly with a number: "where", "where_1".
bool is_mask_operation(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last != std::string_view::npos && last + 1 < name.size() && name[last] == '_') name = name.substr(0, last);
  return std::ranges::find(kMaskOperations, name) != kMaskOperations.end();
}

bool is_model(const Json& json) {
  return json.is_object() && json.contains("config") && json["config"].is_object() &&
         json["config"].contains("layers") && json["config"]["layers"].is_array();
}

/// Returns whether a layer of the model creates masks.
bool makes_masks(const Json& json) {
  if (is_model(json)) return std::ranges::any_of(json["config"]["layers"], makes_masks);
  if (!json.is_object() || !json.contains("class_name")) return false;
  return json["class_name"] == "Masking" ||
         (json.contains("config") && json["config"].is_object() && json["config"].value("mask_zero", Json()) == true);
}

std::string name_of(const Json& layer) {
  const Json name = layer.is_object() ? layer.value("name", Json()) : Json();
  return name.is_string() ? name.get<std::string>() : std::string();
}

/// Renames references such as ["concatenate", 0, 0] at any depth.
void rename_references(Json& json, const Names& renamed) {
  if (!json.is_structured()) return;
  if (json.is_array() && json.size() == 3 && json[0].is_string() && json[1].is_number_integer()) {
    const auto found = renamed.find(json[0].get<std::string>());
    if (found != renamed.end()) json[0] = found->second;
    return;
  }
  for (Json& each : json) rename_references(each, renamed);
}

void rename_layers(Json& model) {
  Json& config = model["config"];
  std::set<std::string> taken;
  for (const Json& layer : config["layers"]) taken.insert(name_of(layer));
  Names renamed;
  for (Json& layer : config["layers"]) {
    if (is_model(layer)) rename_layers(layer);
    const std::string name = name_of(layer);
    if (!is_mask_operation(name)) continue;
    std::string other = name + "_layer";
    while (!taken.insert(other).second) other += "_";
    renamed[name] = other;
    layer["name"] = other;
    if (layer["config"].is_object() && layer["config"].contains("name")) layer["config"]["name"] = other;
  }
  if (renamed.empty()) return;
  for (Json& layer : config["layers"])
    if (layer.contains("inbound_nodes")) rename_references(layer["inbound_nodes"], renamed);
  for (const char* key : {"input_layers", "output_layers"})
    if (config.contains(key)) rename_references(config[key], renamed);
}

}  // namespace

void remove_shared_ids(Json& json) {
  if (json.is_object()) json.erase("shared_object_id");
  if (!json.is_structured()) return;
  for (Json& each : json) remove_shared_ids(each);
}

void rename_like_mask_operations(Json& model) {
  if (is_model(model) && makes_masks(model)) rename_layers(model);
}

}  // namespace attn::keras
