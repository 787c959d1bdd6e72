// Passes that skip padding.
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
  std::int64_t positions = 0;  ///< number of all positions, B·S
  std::int64_t rows = 0;       ///< number of positions that are not padding
};

/// Returns a graph with its inputs that computes only the positions which the padding mask in `inputs` does not hide
/// (plan::skip_padding). The graph accepts any inputs with the same number of such positions. Throws Error (bad_input)
/// if the model has no padding mask, or reads values at padded positions.
[[nodiscard]] Unpadded skip_padding(graph::Graph graph, std::span<const Tensor> inputs);

/// Turns the last positions of `inputs` into padding. Sequence lengths are drawn from RandomStream(seed, "lengths").
/// Relative to the full length, they are uniform in [2·mean − 1, 1] for a mean of at least 0.5, otherwise in [0,
/// 2·mean]; the minimum is 1 position. The input of the padding mask becomes 0 after them. Throws like skip_padding,
/// and if the mask is not computed from one input (B, S).
void pad_randomly(const graph::Graph& graph, std::span<Tensor> inputs, double mean, std::uint64_t seed);

}  // namespace attn::run
