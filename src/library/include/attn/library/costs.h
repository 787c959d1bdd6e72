// What a model costs at a size of input.
#pragma once

#include "attn/keras/model.h"
#include "attn/report/costs.h"

namespace attn::library {

/// Lowers and plans the model; no weight is made. A symbolic lowering gives no FLOPs and no bytes of activations.
/// Throws Error (bad_input) as Model::lower does, and (no_memory) where a size passes what a plan holds.
[[nodiscard]] report::CostReport costs_of(const keras::Model& model, const keras::LowerOptions& options);

}  // namespace attn::library
