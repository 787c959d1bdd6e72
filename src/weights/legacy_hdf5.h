// The .h5 that Keras wrote before .weights.h5, and still reads.
#pragma once

#include <span>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/io/hdf5.h"

namespace attn::weights {

/// A layer's weights are listed in two parts, each in the order of its variables: is this one in the first?
[[nodiscard]] bool listed_first(const graph::WeightSpec& spec);

/// The weights alone, layer by layer in the order of the specs, for model.load_weights.
[[nodiscard]] io::Hdf5File legacy_hdf5(std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors);

}  // namespace attn::weights
