#include "custom_objects.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/loss_graph.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

/// Finds the names of custom functions and classes, of which a file has only the name.
void find_custom(const Json& serialized, std::vector<std::string>& names) {
  if (serialized.is_array() || (serialized.is_object() && !serialized.contains("class_name"))) {
    for (const Json& each : serialized) find_custom(each, names);
    return;
  }
  if (!serialized.is_object() || !serialized["class_name"].is_string()) return;
  const auto class_name = serialized["class_name"].get<std::string>();
  const Json module = serialized.value("module", Json("keras"));
  const Json config = serialized.value("config", Json());
  std::string name;
  if (class_name == "__lambda__") {
    name = "a lambda";
  } else if (class_name == "function") {
    name = config.is_string() ? config.get<std::string>() : class_name;
    if (keras::is_known_function(name)) return;
  } else if (module.is_null()) {
    name = class_name;
  } else {
    for (const char* part : {"learning_rate", "fn"})
      find_custom(config.is_object() ? config.value(part, Json()) : Json(), names);
    return;
  }
  names.push_back(fmt::format("'{}'", printable(name)));
}

}  // namespace

void refuse_custom(const Json& compile_config) {
  std::vector<std::string> found, options;
  for (const auto& [option, keys] : {std::pair("`loss`", std::vector{"loss"}),
                                     {"`optimizer`", {"optimizer"}},
                                     {"`metrics`", {"metrics", "weighted_metrics"}}}) {
    const std::size_t before = found.size();
    for (const char* key : keys) find_custom(compile_config.value(key, Json()), found);
    if (found.size() > before) options.emplace_back(option);
  }
  if (found.empty()) return;
  throw bad_input(
      "the model was compiled with custom functions or classes, {}, of which the file only has the names; "
      "give {} instead{}",
      join(found, ", "), join(options, ", "),
      std::ranges::count(options, "`metrics`") > 0 ? "; use `metrics` none for the loss without a metric" : "");
}

}  // namespace attn::train
