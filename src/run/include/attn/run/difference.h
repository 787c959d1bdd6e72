// How two arrays differ, element by element: in steps of a dtype, and by size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::run {

/// How many steps from one number of a floating dtype to the next lie between two numbers, rounded to it first; nothing
/// where either is NaN.
[[nodiscard]] std::optional<std::uint64_t> steps_between(double a, double b, DType dtype);
/// The most steps ("ULP") between elements that are finite on both sides.
[[nodiscard]] std::uint64_t most_steps(const Tensor& a, const Tensor& b, DType dtype);

/// The distance from 1 to the next number of a floating dtype.
[[nodiscard]] double epsilon_of(DType dtype);
/// The coarser of two dtypes that numbers passed through: the floating one, or that of the larger epsilon.
[[nodiscard]] DType coarser(DType a, DType b);

/// Counts of elements by |a − b|.
struct Histogram {
  struct Bin {
    double from = 0, to = 0;  ///< from < |a − b| ≤ to, or from 0 on; powers of ten
    std::int64_t count = 0;
  };
  std::int64_t equal = 0;      ///< two NaN, and an infinity with itself, too
  std::int64_t unordered = 0;  ///< a NaN or an infinity on one side alone
  std::vector<Bin> bins;  ///< in order, without gaps; at most ten, of which the first begins at 0 where more fell there
};
[[nodiscard]] Histogram histogram(const Tensor& a, const Tensor& b);

}  // namespace attn::run
