// Loops over operands that are broadcast to one shape. They process rows of the output, along which an operand either
// advances or repeats.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attn/base/shape.h"

namespace attn::backends::cpu {

/// A joint walk over `kCount` operands. Consecutive axes along which the same operands advance are merged, so that rows
/// are long.
template <std::size_t kCount>
struct Walk {
  std::int64_t length = 1;                                   ///< elements per row
  std::array<bool, kCount> steps{};                          ///< whether the operand advances along a row
  std::vector<std::array<std::int64_t, kCount>> row_starts;  ///< the first element of each row, for each operand
};

template <std::size_t kCount>
[[nodiscard]] Walk<kCount> walk(const std::array<const Shape*, kCount>& shapes, const Shape& output) {
  using Strides = std::array<std::int64_t, kCount>;
  struct Axis {
    std::int64_t size;
    std::array<bool, kCount> steps;
    Strides strides;
  };
  // Axes from the last to the first. An axis is merged with the one after it if the operands advance alike.
  std::vector<Axis> axes;
  Strides next;
  next.fill(1);
  for (int back = 1; back <= output.rank(); ++back) {
    const Dim size = output[-back];
    Axis axis{size, {}, {}};
    for (std::size_t n = 0; n < kCount; ++n) {
      const Shape& shape = *shapes[n];
      const Dim own = back <= shape.rank() ? shape[-back] : 1;
      axis.steps[n] = own != 1;
      axis.strides[n] = axis.steps[n] ? next[n] : 0;
      next[n] *= own;
    }
    if (size == 1) continue;
    if (!axes.empty() && axes.back().steps == axis.steps) {
      axes.back().size *= size;
    } else {
      axes.push_back(axis);
    }
  }
  Walk<kCount> result;
  result.row_starts.push_back({});
  if (axes.empty()) return result;
  result.length = axes.front().size;
  result.steps = axes.front().steps;
  for (std::size_t a = axes.size(); a-- > 1;) {
    std::vector<Strides> longer;
    longer.reserve(result.row_starts.size() * static_cast<std::size_t>(axes[a].size));
    for (const Strides& start : result.row_starts) {
      for (std::int64_t i = 0; i < axes[a].size; ++i) {
        Strides moved = start;
        for (std::size_t n = 0; n < kCount; ++n) moved[n] += i * axes[a].strides[n];
        longer.push_back(moved);
      }
    }
    result.row_starts = std::move(longer);
  }
  return result;
}

}  // namespace attn::backends::cpu
