// Writes the .h5 format that preceded .weights.h5, and that Keras still reads.
#pragma once

#include <span>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/io/hdf5.h"

namespace attn::weights {

/// Returns whether the weight is listed in the first of the two parts that the list of a layer's weights has. Each part
/// is in the order of the layer's variables.
[[nodiscard]] bool listed_first(const graph::WeightSpec& spec);

/// Returns the contents of a file with only the weights, for model.load_weights: layer by layer, in the order of the
/// specs.
[[nodiscard]] io::Hdf5File legacy_hdf5(std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors);

}  // namespace attn::weights
