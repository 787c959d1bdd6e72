// Convolutions the other way round: each cell of the input spreads a window of the output.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

/// The window of a transposed convolution, one number for each spatial axis.
struct TransposedWindow {
  std::vector<std::int64_t> strides, dilation;
  bool same = false;                                        ///< the padding; otherwise "valid"
  std::optional<std::vector<std::int64_t>> output_padding;  ///< nothing: as the strides need it
};

/// Returns the transposed convolution of x (B, spatial…, C) with a kernel (window…, F, C) and, if `bias` is given, plus
/// F numbers. The input is spread out by the strides, then an ordinary convolution with the flipped kernel slides over
/// it. Sizes follow keras.src.backend.common.backend_utils.compute_conv_transpose_output_shape; the result begins where
/// the gradient of TensorFlow's convolution does. Throws Error (bad_input) for sizes that are too large.
[[nodiscard]] graph::ValueId transposed_convolution(graph::Builder& b, graph::ValueId x, graph::ValueId kernel,
                                                    const TransposedWindow& window,
                                                    std::optional<graph::ValueId> bias = {});

}  // namespace attn::keras
