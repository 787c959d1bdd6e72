// The parts of a model that was lowered.
#pragma once

#include <vector>

#include "attn/keras/anatomy.h"
#include "model/functional.h"
#include "model/model_lowering.h"

namespace attn::keras {

/// The parts of `model`, whose calls `lowering` has made.
[[nodiscard]] std::vector<Part> parts_of(Functional& model, ModelLowering& lowering);

}  // namespace attn::keras
