// What came into Keras 3 after 3.0, as far as configs show it. Found by asking each version (tests/oracle/).
#pragma once

#include <string_view>

#include "attn/keras/version.h"

namespace attn::keras {

/// Since when EinsumDense draws from its equation's axes (before: from the last two of any kernel).
inline constexpr Version kEinsumFans = 315;

/// The first Keras 3 that has the class of a layer or operation, or the activation of this name.
[[nodiscard]] Version class_since(std::string_view class_name, bool operation);
[[nodiscard]] Version activation_since(std::string_view name);

}  // namespace attn::keras
