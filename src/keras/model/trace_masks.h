// Traces the masks of a model.
#pragma once

#include "attn/keras/masks.h"
#include "model/functional.h"

namespace attn::keras {

/// Returns the masks of one call of a connected model, with unknown dimensions.
[[nodiscard]] MaskTrace trace_masks(Functional& model);

}  // namespace attn::keras
