// Replaces bfloat16 in operators whose operator set does not support it.
#pragma once

#include <functional>

#include "attn/onnx/model.h"

namespace attn::onnx {

/// Adds casts around every node that reads bfloat16 if the operator set does not allow it: the node then computes in
/// float32. `unique` returns a name that is not yet in the graph.
void widen_bfloat16(Graph& graph, int opset, const std::function<std::string(const std::string&)>& unique);

}  // namespace attn::onnx
