// Feed-forward layers that can be narrower in KerasHub than in transformers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// The weights of a model as they are written.
struct WideWeights {
  std::vector<graph::WeightSpec> specs;
  std::vector<Tensor> tensors;
};

/// In transformers, the inner width of Bloom's blocks is always four times the model's width. Narrower blocks are
/// padded with zeros, which does not change the result, because gelu(0) is 0. Other families are unchanged.
[[nodiscard]] WideWeights with_wide_blocks(std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors,
                                           std::string_view backbone);

}  // namespace attn::weights
