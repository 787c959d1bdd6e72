// What the sizes of weights are called in the literature, and why some layers have none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/shape.h"
#include "classes/layer.h"

namespace attn::keras {

/// The names of a variable's dimensions; "a|b" is a, or b where a already means another size. Empty: none are known.
/// `variable` is its name in the layer: "query/kernel".
[[nodiscard]] std::vector<std::string> symbols_of(const Layer& layer, std::string_view variable, const Shape& shape);

/// What a symbol means, or "".
[[nodiscard]] std::string_view meaning_of(std::string_view symbol);

/// Why a layer without variables has none.
[[nodiscard]] std::string why_no_params(const Layer& layer);

}  // namespace attn::keras
