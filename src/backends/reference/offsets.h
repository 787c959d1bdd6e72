// Element offsets of tensors: an index per axis becomes one offset, and loops over axes become lists of
// offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/shape.h"

namespace attn::backends::reference {

using Offsets = std::vector<std::int64_t>;

/// Returns the strides of a row-major array.
[[nodiscard]] Offsets strides_of(const Shape& shape);

/// Returns the strides of `shape` broadcast to `broadcast`, aligned at the last axis: 0 along axes that repeat.
[[nodiscard]] Offsets broadcast_strides(const Shape& shape, const Shape& broadcast);

/// Returns start + Σ index·stride for every index of `dims`, in row-major order.
[[nodiscard]] Offsets offsets(std::span<const Dim> dims, std::span<const std::int64_t> strides, std::int64_t start = 0);

/// Returns the offset in `shape` of every element of `broadcast`.
[[nodiscard]] Offsets broadcast_offsets(const Shape& shape, const Shape& broadcast);

/// A tensor cut into slices along `axes`: element j of slice i is at starts[i] + along[j], both in row-major order.
struct Slices {
  Offsets starts;
  Offsets along;
};
[[nodiscard]] Slices slices(const Shape& shape, std::span<const int> axes);

}  // namespace attn::backends::reference
