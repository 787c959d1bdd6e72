// The layers of Keras 2, class by class.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/json.h"

namespace attn::keras {

/// A layer object {class_name, config} inside another's config.
using NestedLayer = std::function<Json(const Ref& layer)>;

/// A layer's class and config as Keras 3 has them.
struct TranslatedClass {
  std::string class_name;
  Json config;
  /// Constructor arguments of Keras 2 that are arguments of the call in Keras 3.
  Json call_arguments = Json::object();
};

/// `class_name` is without its package; `place` is where it stands. Throws Error (bad_input) for what Keras 3 does not
/// have.
[[nodiscard]] TranslatedClass translate_class(std::string_view class_name, const Ref& place, const Ref& config,
                                              const NestedLayer& nested);

/// May a call give the class its initial states as further tensors of its first argument?
[[nodiscard]] bool takes_initial_state(std::string_view class_name);

}  // namespace attn::keras
