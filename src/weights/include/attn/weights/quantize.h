// Float weights as the integers that Keras's quantize() makes of them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// The numbers of the quantized model's weights, in the order of `quantized`, from those of the same model in floats:
/// bit for bit what Keras computes (keras/src/quantizers/quantizers.py, with NumPy). `number` gives those of floats[i];
/// it is called once for each that is needed, and what it gave is let go of when the last part is made of it, so that
/// no more floats are held than they have to be. Throws Error (bad_input) where `floats` has not what `quantized` is
/// made of, or where that is not finite.
[[nodiscard]] std::vector<Tensor> quantize(std::span<const graph::WeightSpec> quantized,
                                           std::span<const graph::WeightSpec> floats,
                                           const std::function<Tensor(std::size_t)>& number);

}  // namespace attn::weights
