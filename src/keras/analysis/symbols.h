// The names of weight sizes in the literature, and the reasons why layers have no weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/shape.h"
#include "classes/layer.h"

namespace attn::keras {

/// Returns the names of a variable's dimensions; "a|b" means a, or b if a already names another size. Empty if unknown.
/// `variable` is its name in the layer: "query/kernel".
[[nodiscard]] std::vector<std::string> symbols_of(const Layer& layer, std::string_view variable, const Shape& shape);

/// Returns the meaning of a symbol, or "".
[[nodiscard]] std::string_view meaning_of(std::string_view symbol);

/// Returns the reason why a layer has no variables.
[[nodiscard]] std::string why_no_params(const Layer& layer);

}  // namespace attn::keras
