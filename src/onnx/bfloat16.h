// Operators that an operator set has no bfloat16 for.
#pragma once

#include <functional>

#include "attn/onnx/model.h"

namespace attn::onnx {

/// Casts around every node that reads bfloat16 where the operator set does not allow it: the node computes in float32.
/// `unique` makes a name that the graph does not have.
void widen_bfloat16(Graph& graph, int opset, const std::function<std::string(const std::string&)>& unique);

}  // namespace attn::onnx
