// KerasHub's RMS normalizations, as layers and inside of layers.
#pragma once

#include "attn/graph/graph.h"

namespace attn::keras {

/// x/√(mean(x²) + ε)·scale over the last axis, in float32 at least, then in `out`. `scale` has its size.
[[nodiscard]] graph::ValueId rms_normalized(graph::Builder& b, graph::ValueId x, graph::ValueId scale, double epsilon,
                                            DType out);

}  // namespace attn::keras
