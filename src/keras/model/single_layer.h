// A single layer as a model.
#pragma once

#include <memory>

#include "model/functional.h"

namespace attn::keras {

/// Creates a functional model `Input → layer` to build and display a single layer.
[[nodiscard]] std::unique_ptr<Functional> model_around(LayerPtr layer, const Shape& input_shape);

}  // namespace attn::keras
