// Element addressing: converts the index of an element to an offset in each operand.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attn/base/shape.h"
#include "simt.h"

namespace attn::cuda {

/// The maximum number of axes of a walk, after axes that all operands step through together are merged.
inline constexpr int kMaxAxes = 16;

/// Returns i / size and i % size for non-negative numbers. A 32-bit division needs a fraction of the time of a 64-bit
/// one.
struct Divided {
  std::int64_t quotient = 0, remainder = 0;
};
[[nodiscard]] __host__ __device__ __forceinline__ Divided divide(std::int64_t i, std::int64_t size) {
  if ((i | size) <= std::int64_t{UINT32_MAX}) {
    const auto small = static_cast<std::uint32_t>(i), divisor = static_cast<std::uint32_t>(size);
    const std::uint32_t quotient = small / divisor;
    return {static_cast<std::int64_t>(quotient), static_cast<std::int64_t>(small - quotient * divisor)};
  }
  const std::int64_t quotient = i / size;
  return {quotient, i - quotient * size};
}

template <int kOperands>
struct Offsets {
  std::int64_t of[kOperands];
};

/// The elements of an index space in row-major order, with the stride along each axis in each operand.
template <int kOperands>
struct Walk {
  std::int64_t count = 1;  ///< number of elements
  int rank = 0;
  std::int64_t sizes[kMaxAxes] = {};
  std::int64_t strides[kOperands][kMaxAxes] = {};

  /// Returns the offsets of element i, 0 ≤ i < count.
  [[nodiscard]] __host__ __device__ __forceinline__ Offsets<kOperands> at(std::int64_t i) const {
    Offsets<kOperands> result{};
    for (int axis = rank - 1; axis >= 0; --axis) {
      Divided split{0, i};
      if (axis > 0) split = divide(i, sizes[axis]);
      i = split.quotient;
      for (int o = 0; o < kOperands; ++o) result.of[o] += split.remainder * strides[o][axis];
    }
    return result;
  }
};

using Steps = std::vector<std::int64_t>;

/// Returns the strides of a row-major array.
[[nodiscard]] Steps steps_of(const Shape& shape);

/// Returns the strides of `shape` broadcast to `broadcast`, aligned at the last axis: 0 along axes that repeat.
[[nodiscard]] Steps broadcast_steps(const Shape& shape, const Shape& broadcast);

/// Axes with the strides of each operand.
struct Axes {
  std::vector<Dim> sizes;
  std::vector<Steps> steps;  ///< one for each operand
};

/// Returns an equivalent walk over fewer axes. Axes of one element are removed, and adjacent axes are merged if they
/// are contiguous in every operand.
[[nodiscard]] Axes merged(const Axes& axes);

/// Returns a walk over the merged axes; empty if there are more than kMaxAxes.
template <int kOperands>
[[nodiscard]] std::optional<Walk<kOperands>> walk_over(const Axes& axes) {
  const Axes fewer = merged(axes);
  if (fewer.sizes.size() > kMaxAxes) return std::nullopt;
  Walk<kOperands> walk;
  walk.rank = static_cast<int>(fewer.sizes.size());
  for (std::size_t axis = 0; axis < fewer.sizes.size(); ++axis) {
    walk.sizes[axis] = fewer.sizes[axis];
    walk.count *= fewer.sizes[axis];
    for (std::size_t o = 0; o < fewer.steps.size(); ++o) walk.strides[o][axis] = fewer.steps[o][axis];
  }
  return walk;
}

/// A tensor cut into rows along `axes`: element j of row i is at starts.at(i) + along.at(j), both in row-major order.
struct Rows {
  Walk<1> starts, along;
};
[[nodiscard]] std::optional<Rows> rows_of(const Shape& shape, std::span<const int> axes);

}  // namespace attn::cuda
