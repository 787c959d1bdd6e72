// A layer on its own.
#pragma once

#include <memory>

#include "model/functional.h"

namespace attn::keras {

/// A functional model `Input → layer` that builds a single layer and shows it.
[[nodiscard]] std::unique_ptr<Functional> model_around(LayerPtr layer, const Shape& input_shape);

}  // namespace attn::keras
