// The parts of a lowered model.
#pragma once

#include <vector>

#include "attn/keras/anatomy.h"
#include "model/functional.h"
#include "model/model_lowering.h"

namespace attn::keras {

/// Returns the parts of `model`, whose calls `lowering` must already have lowered.
[[nodiscard]] std::vector<Part> parts_of(Functional& model, ModelLowering& lowering);

}  // namespace attn::keras
