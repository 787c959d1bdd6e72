// Resizes axes: images like tf.image.resize, and adaptive pooling.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "classes/call.h"

namespace attn::keras {

/// The interpolations of resized().
inline constexpr std::array<std::string_view, 5> kInterpolations = {"nearest", "bilinear", "bicubic", "lanczos3",
                                                                    "lanczos5"};

/// Options for resizing images.
struct Resampling {
  std::string_view interpolation = "bilinear";  ///< one of kInterpolations
  bool antialias = false;                       ///< whether shrinking uses all input cells
  bool crop = false, pad = false;               ///< whether to crop or pad to the target's aspect ratio first
  double fill = 0.0;
};

/// Resizes `axis` of x to `size` cells, each a weighted sum of the cells around it. If a size is unknown (summaries),
/// only the shape is valid. Throws Error (bad_input) for an interpolation that is not one of kInterpolations.
[[nodiscard]] graph::ValueId resized(graph::Builder& b, graph::ValueId x, int axis, Dim size,
                                     std::string_view interpolation, bool antialias = false);

/// Resizes the rows of x along `row_axis` and the columns along the next axis.
[[nodiscard]] graph::ValueId resized_image(graph::Builder& b, graph::ValueId x, int row_axis, Dim height, Dim width,
                                           const Resampling& how);

/// Pools x to sizes[i] cells along axis first_axis + i. Each cell is the mean or maximum of its part of the axis; parts
/// overlap if they do not divide the axis evenly. If a size is unknown (summaries), only the shape is valid. Throws
/// Error (bad_input) for sizes beyond the limit.
[[nodiscard]] graph::ValueId pooled(graph::Builder& b, graph::ValueId x, int first_axis,
                                    std::span<const std::int64_t> sizes, bool average);

}  // namespace attn::keras
