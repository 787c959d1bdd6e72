// Completes the tensor arguments in the calls of a translated model.
#pragma once

#include "model/functional.h"

namespace attn::keras {

/// Keras 3 writes the shape and dtype of each tensor into the calls that read it, and requires them for loading. Adds
/// them to a built model and those inside it.
void complete_histories(Functional& model);

}  // namespace attn::keras
