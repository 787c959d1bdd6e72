// Custom classes in a config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/json.h"

namespace attn::keras {

/// A reference to custom code, and the message that rejects it.
struct CustomReference {
  Ref place;
  std::string why;
};

/// Returns the reference if a serialized object names a module or registration of custom code.
[[nodiscard]] std::optional<CustomReference> foreign_class(const Ref& object);

/// Returns the reference if the activation in a layer's config is a lambda or a custom registered function.
[[nodiscard]] std::optional<CustomReference> foreign_activation(const Ref& config);

/// Returns the name of a custom initializer, regularizer or constraint: a class or function that a user registered or
/// passed, or "a lambda". Empty for an object of Keras, and for a form that Keras does not write for custom objects.
/// Custom objects take no part in a pass, and their code is never run.
[[nodiscard]] std::optional<std::string> custom_object(const Ref& object);

/// Returns the name of a serialized object for messages: that of the custom object, else its class.
[[nodiscard]] std::string object_name(const Json& object);

/// Returns whether Keras has an initializer of this class or short name.
[[nodiscard]] bool is_initializer(std::string_view name);

/// Returns whether Keras has an initializer, a regularizer, a constraint or a seed of this class.
[[nodiscard]] bool is_inert_class(std::string_view class_name);

/// Returns whether the object is a lambda in Keras's serialization.
[[nodiscard]] bool is_lambda(const Ref& object);

/// The message that rejects a lambda.
extern const char* const kLambdaRefusal;

}  // namespace attn::keras
