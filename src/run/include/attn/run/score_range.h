// Finds attention scores that leave the range of float16 in Keras.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

struct LargeScore {
  std::string layer;
  double value = 0;  ///< the largest product of a query and a key that the attention sees
};

/// Runs the graph and returns the attention layers that compute in float16 and have a score above its range. Keras
/// rounds scores to float16, where they become infinite and their softmax NaN; attn's kernels sum in float32. Without
/// an attention in float16 nothing runs.
[[nodiscard]] std::vector<LargeScore> large_scores(const backends::Backend& backend, const graph::Graph& graph,
                                                   std::vector<Tensor> weights, std::span<const Tensor> inputs,
                                                   const backends::CompileOptions& options);

}  // namespace attn::run
