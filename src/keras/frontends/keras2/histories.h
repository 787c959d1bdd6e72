// What the calls of a translated model say about the tensors they take.
#pragma once

#include "model/functional.h"

namespace attn::keras {

/// Keras 3 writes the shape and dtype of each tensor into the calls that take it, and does not load calls without.
/// Fills them in for a model, and those inside it, that is built.
void complete_histories(Functional& model);

}  // namespace attn::keras
