#include "classes/custom_layer.h"

#include <utility>

#include "attn/base/text.h"

namespace attn::keras {

CustomLayer::CustomLayer(std::string class_name, std::string why)
    : class_name_(std::move(class_name)),
      why_(std::move(why)),
      own_info_{.name = class_name_, .make = nullptr, .since = kAnyKeras, .module = "builtins"} {
  info = &own_info_;
}

void CustomLayer::config(Fields& f) {
  if (!f.reading()) {
    for (const auto& [key, value] : config_.items()) f.put(key, value);
    return;
  }
  config_ = f.config().json();
  for (const auto& [key, value] : f.config().members()) f.ignored({key});
  // A custom class may write any value for any key, so types are checked.
  const auto is = [&](const char* key, Json::value_t type) {
    return config_.contains(key) && config_[key].type() == type;
  };
  if (is("name", Json::value_t::string)) name = config_["name"].get<std::string>();
  if (is("trainable", Json::value_t::boolean)) trainable = config_["trainable"].get<bool>();
}

Arg CustomLayer::call(Call& /*call*/) { refuse(); }

void CustomLayer::refuse() const {
  Error error = document == nullptr ? bad_input("{}", why_) : Error(document->error(pointer, false, why_));
  throw error.about("custom_class");
}

}  // namespace attn::keras
