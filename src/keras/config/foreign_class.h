// Custom classes in a config.
#pragma once

#include <optional>
#include <string>

#include "config/json.h"

namespace attn::keras {

/// A reference to custom code, and the message that rejects it.
struct Foreign {
  Ref place;
  std::string why;
};

/// Returns the reference if a serialized object names a module or registration of custom code.
[[nodiscard]] std::optional<Foreign> foreign_class(const Ref& object);

/// Returns the reference if the activation in a layer's config is a lambda or a custom registered function.
[[nodiscard]] std::optional<Foreign> foreign_activation(const Ref& config);

/// Returns whether it is a lambda in Keras's serialization.
[[nodiscard]] bool is_lambda(const Ref& object);

/// "a lambda is Python code, …".
extern const char* const kLambdaRefusal;

}  // namespace attn::keras
