// Writes the .h5 format that preceded .weights.h5, and that Keras still reads.
#pragma once

#include <span>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/io/hdf5.h"

namespace attn::weights {

/// The weights of a layer are listed in two parts, each in the order of its variables. Returns whether this one is in
/// the first.
[[nodiscard]] bool listed_first(const graph::WeightSpec& spec);

/// Only the weights, layer by layer in the order of the specs, for model.load_weights.
[[nodiscard]] io::Hdf5File legacy_hdf5(std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors);

}  // namespace attn::weights
