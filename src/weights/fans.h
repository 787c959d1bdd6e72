// Fan-in and fan-out of a weight.
#pragma once

#include "attn/graph/weight.h"

namespace attn::weights {

/// Stored as doubles, because a product of dimensions may exceed 64 bits.
struct Fans {
  double in = 1.0;
  double out = 1.0;
};

/// Keras's compute_fans. Uses the initializer's input and output axes if it has any. Otherwise a matrix is (in, out),
/// and higher ranks are convolution kernels (window…, in, out). Throws Error (bad_input) for an axis that the weight
/// does not have.
[[nodiscard]] Fans fans_of(const graph::WeightSpec& spec);

}  // namespace attn::weights
