// Which classes a config may name: Keras's and KerasHub's own.
#pragma once

#include <string_view>
#include <utility>

#include "config/json.h"

namespace attn::keras {

/// "keras_hub>TransformerEncoder" as its package, which may be empty, and its class.
[[nodiscard]] std::pair<std::string_view, std::string_view> package_and_class(std::string_view name);

/// Throws Error (bad_input) where a serialized object names a module or a registration of somebody else's code.
void check_built_in(const Ref& object);

/// The same for every object in a value, and for functions, none of which is ever run.
void check_inert(const Ref& value);

/// What must be a regularizer or a constraint (null, an object, or a name that Keras knows), as Keras writes it: with
/// its module and all arguments. An object of another class, which does not act at inference, is kept as it is.
[[nodiscard]] Json regularizer(const Ref& value);
[[nodiscard]] Json constraint(const Ref& value);

}  // namespace attn::keras
