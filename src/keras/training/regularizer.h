// The regularization terms of a loss.
#pragma once

#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "config/json.h"
#include "model/functional.h"
#include "model/model_lowering.h"

namespace attn::keras {

/// Adds the term of a regularizer, given by its serialized object, for x. Throws Error (bad_input) for a custom
/// regularizer.
[[nodiscard]] graph::ValueId regularization(graph::Builder& b, graph::ValueId x, const Json& regularizer);

/// Adds the terms of all trainable variables of a lowered model, in Keras's order. The terms of its layers' outputs
/// follow; they are divided by the batch size (keras/src/layers/layer.py).
[[nodiscard]] std::vector<graph::ValueId> regularizations(Functional& model, ModelLowering& lowering);

}  // namespace attn::keras
