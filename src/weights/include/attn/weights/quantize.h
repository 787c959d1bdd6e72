// Float weights as the integers that Keras's quantize() makes of them.
#pragma once

#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// The numbers of the quantized model's weights, in the order of `quantized`, from those of the same model in floats:
/// bit for bit what Keras computes (keras/src/quantizers/quantizers.py, with NumPy). Throws Error (bad_input) where
/// `floats` has not what `quantized` is made of, or where that is not finite.
[[nodiscard]] std::vector<Tensor> quantize(std::span<const graph::WeightSpec> quantized,
                                           std::span<const graph::WeightSpec> floats, std::span<const Tensor> numbers);

}  // namespace attn::weights
