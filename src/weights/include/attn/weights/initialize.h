// Initializes weights that no file provides.
#pragma once

#include <cstdint>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// Runs the weight's initializer. With an integer seed, the numbers are those that Keras draws on TensorFlow. Otherwise
/// they are drawn from RandomStream(seed, spec.path), independent of the order and number of weights, and of threads
/// (0: all cores). Throws Error (bad_input) for an initializer that Keras does not have, or that does not apply to the
/// weight's shape or dtype. Throws Error (no_memory) if the weight does not fit into memory.
[[nodiscard]] Tensor initialize(const graph::WeightSpec& spec, std::uint64_t seed, int threads = 0);

}  // namespace attn::weights
