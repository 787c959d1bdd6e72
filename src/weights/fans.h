// How many inputs and outputs a weight connects.
#pragma once

#include "attn/graph/weight.h"

namespace attn::weights {

/// Counts, as doubles: a product of dimensions may pass 64 bits.
struct Fans {
  double in = 1.0;
  double out = 1.0;
};

/// Keras's compute_fans: over the initializer's input and output axes where it has any; else (in, out) for a matrix,
/// and (window…, in, out) as of a convolution beyond. Throws Error (bad_input) for an axis that the weight lacks.
[[nodiscard]] Fans fans_of(const graph::WeightSpec& spec);

}  // namespace attn::weights
