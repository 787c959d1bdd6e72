// Finds layers by name; those of nested models are "block/dense".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/functional.h"

namespace attn::keras {

/// Returns the names of all layers and operations, in order; those of nested models follow these.
[[nodiscard]] std::vector<std::string> layer_names(const Functional& model);
/// Returns the layer with this name, or null.
[[nodiscard]] Layer* find_layer(const Functional& model, std::string_view name);

}  // namespace attn::keras
