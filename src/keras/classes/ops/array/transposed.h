// Transposed convolutions: each cell of the input is spread over a window of the output.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

/// The window of a transposed convolution, with one number for each spatial axis.
struct TransposedWindow {
  std::vector<std::int64_t> strides, dilation;
  bool same = false;                                        ///< padding "same"; otherwise "valid"
  std::optional<std::vector<std::int64_t>> output_padding;  ///< empty: derived from the strides
};

/// Returns the transposed convolution of x (B, spatial…, C) with a kernel (window…, F, C), plus `bias` (F) if it is
/// given. Zeros are inserted into x according to the strides; then an ordinary convolution slides the flipped kernel
/// over it. Sizes follow keras.src.backend.common.backend_utils.compute_conv_transpose_output_shape. The result begins
/// where the gradient of TensorFlow's convolution begins. Throws Error (bad_input) for sizes that are too large.
[[nodiscard]] graph::ValueId transposed_convolution(graph::Builder& b, graph::ValueId x, graph::ValueId kernel,
                                                    const TransposedWindow& window,
                                                    std::optional<graph::ValueId> bias = {});

}  // namespace attn::keras
