// Feed-forward layers that can be narrower in KerasHub than in transformers.
#pragma once

#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/weights/name_table.h"

namespace attn::weights {

/// The weights of a model as they are written.
struct WideWeights {
  std::vector<graph::WeightSpec> specs;
  std::vector<Tensor> tensors;
};

/// Pads the axes that the table lists as `padded`. Models of other families are unchanged.
[[nodiscard]] WideWeights with_wide_blocks(std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors,
                                           const NameTable& table);

}  // namespace attn::weights
