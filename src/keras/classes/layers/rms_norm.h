// KerasHub's RMS normalizations, as layers and for use in other layers.
#pragma once

#include "attn/graph/graph.h"

namespace attn::keras {

/// x/√(mean(x²) + ε)·scale over the last axis, in float32 or higher, cast to `out`. `scale` has the size of the axis.
[[nodiscard]] graph::ValueId rms_normalized(graph::Builder& b, graph::ValueId x, graph::ValueId scale, double epsilon,
                                            DType out);

}  // namespace attn::keras
