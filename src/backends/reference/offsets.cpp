#include "offsets.h"

#include <algorithm>

namespace attn::backends::reference {

Offsets strides_of(const Shape& shape) {
  Offsets strides(static_cast<std::size_t>(shape.rank()));
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Offsets broadcast_strides(const Shape& shape, const Shape& broadcast) {
  const Offsets own = strides_of(shape);
  Offsets strides(static_cast<std::size_t>(broadcast.rank()), 0);
  const std::size_t added = strides.size() - own.size();
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    if (shape[static_cast<int>(axis)] != 1) strides[added + axis] = own[axis];
  }
  return strides;
}

Offsets offsets(std::span<const Dim> dims, std::span<const std::int64_t> strides, std::int64_t start) {
  Offsets result{start};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    Offsets longer;
    longer.reserve(result.size() * static_cast<std::size_t>(dims[axis]));
    for (const std::int64_t offset : result) {
      for (Dim i = 0; i < dims[axis]; ++i) longer.push_back(offset + i * strides[axis]);
    }
    result = std::move(longer);
  }
  return result;
}

Offsets broadcast_offsets(const Shape& shape, const Shape& broadcast) {
  return offsets(broadcast.dims(), broadcast_strides(shape, broadcast));
}

Slices slices(const Shape& shape, std::span<const int> axes) {
  const Offsets strides = strides_of(shape);
  std::vector<Dim> kept, cut;
  Offsets kept_strides, cut_strides;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_cut = std::ranges::find(axes, axis) != axes.end();
    (is_cut ? cut : kept).push_back(shape[axis]);
    (is_cut ? cut_strides : kept_strides).push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return {offsets(kept, kept_strides), offsets(cut, cut_strides)};
}

}  // namespace attn::backends::reference
