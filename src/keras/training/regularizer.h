// What regularizers add to a loss.
#pragma once

#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "config/json.h"
#include "model/functional.h"
#include "model/model_lowering.h"

namespace attn::keras {

/// The number that a regularizer, as its serialized object, gives for x. Throws Error (bad_input) for one that is not
/// Keras's.
[[nodiscard]] graph::ValueId regularization(graph::Builder& b, graph::ValueId x, const Json& regularizer);

/// Those of all trainable variables of a model that was lowered, in Keras's order, and of what its layers gave: these
/// are divided by the size of the batch (keras/src/layers/layer.py).
[[nodiscard]] std::vector<graph::ValueId> regularizations(Functional& model, ModelLowering& lowering);

}  // namespace attn::keras
