// Objects of somebody else's classes in a config.
#pragma once

#include <optional>
#include <string>

#include "config/json.h"

namespace attn::keras {

/// What names somebody else's code, and the sentence that refuses it.
struct Foreign {
  Ref place;
  std::string why;
};

/// Does a serialized object name a module or a registration of somebody else's code?
[[nodiscard]] std::optional<Foreign> foreign_class(const Ref& object);

/// Is the activation in a layer's config a lambda, or a function that somebody else registered?
[[nodiscard]] std::optional<Foreign> foreign_activation(const Ref& config);

/// Is it what Keras writes of a lambda?
[[nodiscard]] bool is_lambda(const Ref& object);

/// "a lambda is Python code, …".
extern const char* const kLambdaRefusal;

}  // namespace attn::keras
