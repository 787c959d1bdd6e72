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

/// How images get another size.
struct Resampling {
  std::string_view interpolation = "bilinear";  ///< one of kInterpolations
  bool antialias = false;                       ///< where it gets smaller, do all cells of the input count?
  bool crop = false, pad = false;               ///< first cut or filled to the shape of what is wanted
  double fill = 0.0;
};

/// x with `size` cells along `axis`, each a weighted sum of those around it. Where a size is unknown (summaries), only
/// the shape is right. Throws Error (bad_input) for an interpolation that is not one of kInterpolations.
[[nodiscard]] graph::ValueId resized(graph::Builder& b, graph::ValueId x, int axis, Dim size,
                                     std::string_view interpolation, bool antialias = false);

/// The rows of x along `row_axis` and the columns along the axis behind it.
[[nodiscard]] graph::ValueId resized_image(graph::Builder& b, graph::ValueId x, int row_axis, Dim height, Dim width,
                                           const Resampling& how);

/// x with sizes[i] cells along axis first_axis + i, each the mean or the maximum of its part of the axis; parts overlap
/// where they do not come out even. Where a size is unknown (summaries), only the shape is right. Throws Error
/// (bad_input) for sizes that no model has.
[[nodiscard]] graph::ValueId pooled(graph::Builder& b, graph::ValueId x, int first_axis,
                                    std::span<const std::int64_t> sizes, bool average);

}  // namespace attn::keras
