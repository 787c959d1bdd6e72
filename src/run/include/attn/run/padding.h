// Passes that leave padding out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

struct Unpadded {
  graph::Graph graph;
  std::vector<Tensor> inputs;
  std::int64_t positions = 0;  ///< B·S
  std::int64_t rows = 0;       ///< of these, those that are no padding
};

/// The graph, and its inputs, that compute only the positions that the padding mask in `inputs` does not hide
/// (plan::skip_padding). The graph takes any inputs with as many of them. Throws Error (bad_input) where the model has
/// no such mask, or reads what padding would be.
[[nodiscard]] Unpadded skip_padding(graph::Graph graph, std::span<const Tensor> inputs);

/// Makes padding of the last positions of `inputs`: sequences get random lengths, from RandomStream(seed, "lengths"),
/// uniform in [2·mean − 1, 1] of the whole for a mean of at least a half, else in [0, 2·mean], and at least 1; what the
/// padding mask is computed from becomes 0 after them. Throws as skip_padding, also where the mask does not come from
/// one input (B, S).
void pad_randomly(const graph::Graph& graph, std::span<Tensor> inputs, double mean, std::uint64_t seed);

}  // namespace attn::run
