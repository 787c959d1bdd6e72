// Axes at another size: images as tf.image.resize makes them, and adaptive pooling.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "classes/call.h"

namespace attn::keras {

/// The names of the ways in which resized() fills the cells between.
inline constexpr std::array<std::string_view, 5> kInterpolations = {"nearest", "bilinear", "bicubic", "lanczos3",
                                                                    "lanczos5"};

/// x with `size` cells along `axis`, each a weighted sum of those around it. Where a size is unknown (summaries), only
/// the shape is right. Throws Error (bad_input) for an interpolation that is not one of kInterpolations.
[[nodiscard]] graph::ValueId resized(graph::Builder& b, graph::ValueId x, int axis, Dim size,
                                     std::string_view interpolation);

/// x with sizes[i] cells along axis first_axis + i, each the mean or the maximum of its part of the axis; parts overlap
/// where they do not come out even. Where a size is unknown (summaries), only the shape is right. Throws Error
/// (bad_input) for sizes that no model has.
[[nodiscard]] graph::ValueId pooled(graph::Builder& b, graph::ValueId x, int first_axis,
                                    std::span<const std::int64_t> sizes, bool average);

}  // namespace attn::keras
