// One function per operation, with inputs and outputs as in graph/op.h. The outputs have the types that graph::infer
// gives for the inputs.
#pragma once

#include <span>

#include "attn/base/tensor.h"
#include "attn/communicators/communicator.h"
#include "attn/graph/op.h"

namespace attn::backends::reference {

using Tensors = std::span<const Tensor>;

#define ATTN_DECLARE(type, name) void compute(const graph::type& op, Tensors in, Tensors out);
ATTN_MODEL_OPS(ATTN_DECLARE)
ATTN_QUANTIZED_OPS(ATTN_DECLARE)
ATTN_CACHE_OPS(ATTN_DECLARE)
ATTN_TRAINING_OPS(ATTN_DECLARE)
ATTN_GRADIENT_OPS(ATTN_DECLARE)
#undef ATTN_DECLARE

using communicators::Communicator;
#define ATTN_DECLARE(type, name) void compute(const graph::type& op, Tensors in, Tensors out, Communicator& ranks);
ATTN_COLLECTIVE_OPS(ATTN_DECLARE)
#undef ATTN_DECLARE

}  // namespace attn::backends::reference
