// The classes that a config may name: those of Keras and KerasHub.
#pragma once

#include <string_view>
#include <utility>

#include "config/json.h"

namespace attn::keras {

/// Splits "keras_hub>TransformerEncoder" into its package, which may be empty, and its class.
[[nodiscard]] std::pair<std::string_view, std::string_view> package_and_class(std::string_view name);

/// Throws Error (bad_input) if a serialized object names a module or registration outside Keras and KerasHub.
void check_built_in(const Ref& object);

/// Checks a regularizer, constraint or seed and every object in it as check_built_in does. Also rejects other classes,
/// and functions, which are never run.
void check_inert(const Ref& value);

/// Returns a regularizer or constraint (null, an object, or a name that Keras knows) in Keras's form: with its module
/// and all arguments. An object of another class is kept as it is, because it has no effect at inference.
[[nodiscard]] Json regularizer(const Ref& value);
[[nodiscard]] Json constraint(const Ref& value);

}  // namespace attn::keras
