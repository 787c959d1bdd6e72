// The cost of a model for given input sizes.
#pragma once

#include "attn/keras/model.h"
#include "attn/report/costs.h"

namespace attn::library {

/// Lowers and plans the model without allocating weights. A symbolic lowering gives no FLOPs and no activation bytes.
/// Throws Error (bad_input) as Model::lower does, and (no_memory) if a size exceeds the limits of a plan.
[[nodiscard]] report::CostReport costs_of(const keras::Model& model, const keras::LowerOptions& options);

}  // namespace attn::library
