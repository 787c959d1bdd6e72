// Element-wise differences of two arrays: in steps of a dtype, and by magnitude.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::run {

/// Returns how many representable steps (ULP) of a floating dtype lie between two numbers, which are rounded to that
/// dtype first. Returns empty if either number is NaN.
[[nodiscard]] std::optional<std::uint64_t> steps_between(double a, double b, DType dtype);
/// Returns the largest number of steps (ULP) between elements that are finite on both sides.
[[nodiscard]] std::uint64_t most_steps(const Tensor& a, const Tensor& b, DType dtype);

/// Returns the distance from 1 to the next larger number of a floating dtype.
[[nodiscard]] double epsilon_of(DType dtype);
/// Returns the coarser of two dtypes: the floating one, or the one with the larger epsilon.
[[nodiscard]] DType coarser(DType a, DType b);

/// Counts elements by |a − b|.
struct Histogram {
  struct Bin {
    double from = 0, to = 0;  ///< from < |a − b| ≤ to, powers of ten; the first bin may begin at 0
    std::int64_t count = 0;
  };
  std::int64_t equal = 0;      ///< equal elements; NaN equals NaN, and an infinity itself
  std::int64_t unordered = 0;  ///< a NaN or an infinity on one side only
  std::vector<Bin> bins;  ///< in order and contiguous; at most ten, and the first begins at 0 if it collects smaller
                          ///< differences
};
[[nodiscard]] Histogram histogram(const Tensor& a, const Tensor& b);

}  // namespace attn::run
