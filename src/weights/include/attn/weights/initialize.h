// The numbers of a weight that no file gives.
#pragma once

#include <cstdint>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// The weight as its initializer makes it. Where the initializer has an integer seed, these are the numbers that Keras
/// draws for it on TensorFlow; otherwise they are drawn from RandomStream(seed, spec.path), so that neither the order
/// of the weights nor their number decides anything, nor do the threads (0: all cores). Throws Error (bad_input) for an
/// initializer that Keras does not have, or that does not suit the weight's shape or dtype, and (no_memory) where the
/// weight does not fit.
[[nodiscard]] Tensor initialize(const graph::WeightSpec& spec, std::uint64_t seed, int threads = 0);

}  // namespace attn::weights
