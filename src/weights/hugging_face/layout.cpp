#include "hugging_face/layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace attn::weights {
namespace {

using Order = Layout::Order;

constexpr Dim kTile = 64;  // rows and columns of a tile that fits into the L1 cache

/// Transposes `count` matrices (rows, columns).
template <typename Element>
void transpose(const std::byte* from_bytes, std::byte* to_bytes, Dim count, Dim rows, Dim columns) {
  const auto* from = reinterpret_cast<const Element*>(from_bytes);
  auto* to = reinterpret_cast<Element*>(to_bytes);
  for (Dim matrix = 0; matrix < count; ++matrix, from += rows * columns, to += rows * columns)
    for (Dim row = 0; row < rows; row += kTile)
      for (Dim column = 0; column < columns; column += kTile)
        for (Dim i = row; i < std::min(row + kTile, rows); ++i)
          for (Dim j = column; j < std::min(column + kTile, columns); ++j) to[j * rows + i] = from[i * columns + j];
}

Tensor transposed(const Tensor& array, Shape shape, Dim count, Dim rows, Dim columns) {
  Tensor out(array.dtype(), std::move(shape));
  const auto transpose_bytes = bytes_of(array.dtype()) == 1   ? transpose<std::uint8_t>
                               : bytes_of(array.dtype()) == 2 ? transpose<std::uint16_t>
                               : bytes_of(array.dtype()) == 4 ? transpose<std::uint32_t>
                                                              : transpose<std::uint64_t>;
  transpose_bytes(array.data(), out.data(), count, rows, columns);
  return out;
}

/// Permutes (a, b, c) to (c, b, a).
Tensor reversed(const Tensor& array, Shape shape, Dim a, Dim b, Dim c) {
  const Tensor rows = transposed(array, {array.size()}, 1, a, b * c);  // (b, c, a)
  Tensor out(array.dtype(), std::move(shape));
  const std::int64_t bytes = a * bytes_of(array.dtype());
  for (Dim i = 0; i < b; ++i)
    for (Dim j = 0; j < c; ++j)
      std::memcpy(out.data() + (j * b + i) * bytes, rows.data() + (i * c + j) * bytes, static_cast<std::size_t>(bytes));
  return out;
}

Dim product(const Shape& shape, int first, int last) {
  Dim size = 1;
  for (int axis = first; axis < last; ++axis) size *= shape[axis];
  return size;
}

}  // namespace

Shape hugging_face_shape(const Layout& layout, const Shape& keras) {
  const int rank = keras.rank(), inputs = std::min(layout.inputs, rank);
  const Dim in = product(keras, 0, inputs), out = product(keras, inputs, rank);
  switch (layout.order) {
    case Order::same:
    case Order::counted:
      break;
    case Order::in_front: {
      Shape shape{1};
      shape.append(keras);
      return shape;
    }
    case Order::flat:
      return inputs == 0 ? Shape{out} : Shape{in, out};
    case Order::transposed:
      return {out, in};
    case Order::by_head:
      return {keras[0] * keras[2], keras[1]};
    case Order::convolution: {
      Shape shape{keras[rank - 1], keras[rank - 2]};
      shape.append(keras.slice(0, rank - 2));
      return shape;
    }
  }
  return keras;
}

Joining joining(const Layout& layout, const Shape& keras) {
  const Shape whole = hugging_face_shape(layout, keras);
  if (!layout.by_parts_of_heads) return {whole, layout.order == Order::flat && layout.inputs > 0 ? 1 : 0};
  const Dim heads = keras[layout.inputs];
  Shape seen{heads, whole[0] / heads};
  seen.append(whole.slice(1, whole.rank()));
  return {seen, 1};
}

Tensor to_keras(const Tensor& array, const Layout& layout, const Shape& keras) {
  const Shape& own = array.shape();
  switch (layout.order) {
    case Order::same:
    case Order::counted:
    case Order::in_front:
    case Order::flat:
      break;
    case Order::transposed:
      return transposed(array, keras, 1, own[0], own[1]);
    case Order::by_head:
      return transposed(array, keras, keras[0], keras[2], keras[1]);
    case Order::convolution:
      return reversed(array, keras, own[0], own[1], product(own, 2, own.rank()));
  }
  return array.reshaped(keras);
}

Tensor to_hugging_face(const Tensor& weight, const Layout& layout) {
  const Shape& own = weight.shape();
  const Shape shape = hugging_face_shape(layout, own);
  switch (layout.order) {
    case Order::same:
    case Order::counted:
    case Order::in_front:
    case Order::flat:
      break;
    case Order::transposed:
      return transposed(weight, shape, 1, shape[1], shape[0]);
    case Order::by_head:
      return transposed(weight, shape, own[0], own[1], own[2]);
    case Order::convolution:
      return reversed(weight, shape, product(own, 0, own.rank() - 2), own[own.rank() - 2], own[own.rank() - 1]);
  }
  return weight.reshaped(shape);
}

Tensor slice(const Tensor& array, int axis, Dim first, Dim last) {
  const Shape& own = array.shape();
  Shape shape = own;
  shape[axis] = last - first;
  const std::int64_t row = product(own, axis + 1, own.rank()) * bytes_of(array.dtype());
  std::byte* const begin = array.data() + first * row;
  if (axis == 0) return {array.dtype(), shape, std::shared_ptr<std::byte>(array.owner(), begin)};
  Tensor out(array.dtype(), shape);
  const std::int64_t bytes = (last - first) * row;
  for (Dim i = 0; i < product(own, 0, axis); ++i)
    std::memcpy(out.data() + i * bytes, begin + i * own[axis] * row, static_cast<std::size_t>(bytes));
  return out;
}

Tensor joined(std::span<const Tensor> parts, int axis) {
  Shape shape = parts.front().shape();
  shape[axis] = 0;
  for (const Tensor& part : parts) shape[axis] += part.shape()[axis];
  Tensor out(parts.front().dtype(), shape);
  const std::int64_t row = product(shape, axis + 1, shape.rank()) * bytes_of(out.dtype());
  std::byte* to = out.data();
  for (Dim i = 0; i < product(shape, 0, axis); ++i) {
    for (const Tensor& part : parts) {
      const std::int64_t bytes = part.shape()[axis] * row;
      std::memcpy(to, part.data() + i * bytes, static_cast<std::size_t>(bytes));
      to += bytes;
    }
  }
  return out;
}

}  // namespace attn::weights
