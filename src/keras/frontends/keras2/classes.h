// Translates the layers of Keras 2, class by class.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/json.h"

namespace attn::keras {

/// Translates a layer object {class_name, config} that is inside another layer's config.
using NestedLayer = std::function<Json(const Ref& layer)>;

/// The class and config of a layer in Keras 3.
struct TranslatedClass {
  std::string class_name;
  Json config;
  /// Constructor arguments in Keras 2 that are call arguments in Keras 3.
  Json call_arguments = Json::object();
};

/// Translates the class and config of a layer. `class_name` has no package; `place` is its location. Throws Error
/// (bad_input) for features that Keras 3 does not have.
[[nodiscard]] TranslatedClass translate_class(std::string_view class_name, const Ref& place, const Ref& config,
                                              const NestedLayer& nested);

/// Returns whether a call may pass initial states as further tensors of the first argument.
[[nodiscard]] bool takes_initial_state(std::string_view class_name);

}  // namespace attn::keras
