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

/// Checks a regularizer, constraint or seed, and every object inside it, as check_built_in does. Also rejects objects
/// of other kinds, and functions. None of them is ever run.
void check_inert(const Ref& value);

/// Returns a regularizer or constraint in Keras's form, with its module and all arguments. `value` is null, an object,
/// or a name that Keras knows. An object of another class is returned unchanged, because it has no effect at inference.
[[nodiscard]] Json regularizer(const Ref& value);
[[nodiscard]] Json constraint(const Ref& value);

}  // namespace attn::keras
