// Quantizes float weights like Keras's quantize().
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// Computes the weights of the quantized model from those of the float model, bitwise equal to Keras
/// (keras/src/quantizers/quantizers.py, with NumPy). Returns them in the order of `quantized`. `number` returns the
/// weight of floats[i]. It is called once for each weight that is needed, and the result is freed after its last use,
/// to keep few float weights in memory. Throws Error (bad_input) if `floats` lacks a source of `quantized`, or if a
/// source is not finite.
[[nodiscard]] std::vector<Tensor> quantize(std::span<const graph::WeightSpec> quantized,
                                           std::span<const graph::WeightSpec> floats,
                                           const std::function<Tensor(std::size_t)>& number);

}  // namespace attn::weights
