// Images at another size, as tf.image.resize makes them.
#pragma once

#include <array>
#include <string_view>

#include "lowering.h"

namespace attn::keras {

/// The names of the ways in which resized() fills the cells between.
inline constexpr std::array<std::string_view, 5> kInterpolations = {"nearest", "bilinear", "bicubic", "lanczos3",
                                                                    "lanczos5"};

/// x with `size` cells along `axis`, each a weighted sum of those around it. Where a size is unknown (summaries), only
/// the shape is right. Throws Error (bad_input) for an interpolation that is not one of kInterpolations.
[[nodiscard]] graph::ValueId resized(graph::Builder& b, graph::ValueId x, int axis, Dim size,
                                     std::string_view interpolation);

}  // namespace attn::keras
