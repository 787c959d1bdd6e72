// Feed-forward layers that are narrower in KerasHub than they can be in transformers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// A model's weights, as they are written.
struct WideWeights {
  std::vector<graph::WeightSpec> specs;
  std::vector<Tensor> tensors;
};

/// Bloom's blocks in transformers are always four times as wide as the model inside. Narrower ones compute the same
/// with zeros behind what they have, as gelu of 0 is 0; other families are as they were.
[[nodiscard]] WideWeights with_wide_blocks(std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors,
                                           std::string_view backbone);

}  // namespace attn::weights
