// Operations that move elements without changing them: each output element is a copy of an input element.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "attn/graph/range.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"
#include "rows.h"

namespace attn::backends::reference {
namespace {

template <std::size_t kBytes>
void copy_elements(const std::byte* from, const Offsets& at_from, std::byte* to, const Offsets& at_to) {
  using Element = std::array<std::byte, kBytes>;
  for (std::size_t i = 0; i < at_from.size(); ++i) {
    std::memcpy(to + at_to[i] * static_cast<std::int64_t>(kBytes),
                from + at_from[i] * static_cast<std::int64_t>(kBytes), sizeof(Element));
  }
}

/// to[at_to[i]] = from[at_from[i]]; both have the same dtype.
void copy(const Tensor& from, const Offsets& at_from, const Tensor& to, const Offsets& at_to) {
  switch (bytes_of(to.dtype())) {
    case 1:
      return copy_elements<1>(from.data(), at_from, to.data(), at_to);
    case 2:
      return copy_elements<2>(from.data(), at_from, to.data(), at_to);
    case 4:
      return copy_elements<4>(from.data(), at_from, to.data(), at_to);
    default:
      return copy_elements<8>(from.data(), at_from, to.data(), at_to);
  }
}

/// Returns the offset of every element of a tensor: 0, 1, 2, …
Offsets all_of(const Tensor& x) { return offsets(x.shape().dims(), strides_of(x.shape())); }

/// Returns the index, along an axis of `size`, of the element that the padded axis has at position i; empty for the pad
/// value. i may be outside the axis.
std::optional<Dim> padded_source(graph::PadMode mode, Dim i, Dim size) {
  if (i >= 0 && i < size) return i;
  if (mode == graph::PadMode::constant) return std::nullopt;
  if (mode == graph::PadMode::edge) return std::clamp<Dim>(i, 0, size - 1);
  // Mirrors at each end. Reflect has the last element once, symmetric has it twice.
  const Dim twice = mode == graph::PadMode::symmetric ? 1 : 0;
  return i < 0 ? -i - twice : 2 * (size - 1) - i + twice;
}

/// Returns the offsets of all combinations of the source indices of each axis, in row-major order.
Offsets product_offsets(const std::vector<std::vector<Dim>>& indices, const Offsets& strides) {
  Offsets result{0};
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    Offsets longer;
    longer.reserve(result.size() * indices[axis].size());
    for (const std::int64_t offset : result) {
      for (const Dim i : indices[axis]) longer.push_back(offset + i * strides[axis]);
    }
    result = std::move(longer);
  }
  return result;
}

}  // namespace

void compute(const graph::Reshape&, Tensors in, Tensors out) {
  if (in[0].data() == out[0].data() || in[0].bytes() == 0) return;
  std::memcpy(out[0].data(), in[0].data(), static_cast<std::size_t>(in[0].bytes()));
}

void compute(const graph::Transpose& op, Tensors in, Tensors out) {
  const Offsets strides = strides_of(in[0].shape());
  Offsets permuted;
  for (const int axis : op.permutation) permuted.push_back(strides[static_cast<std::size_t>(axis)]);
  copy(in[0], offsets(out[0].shape().dims(), permuted), out[0], all_of(out[0]));
}

void compute(const graph::Broadcast&, Tensors in, Tensors out) {
  copy(in[0], broadcast_offsets(in[0].shape(), out[0].shape()), out[0], all_of(out[0]));
}

void compute(const graph::Concat& op, Tensors in, Tensors out) {
  const Offsets strides = strides_of(out[0].shape());
  Dim begin = 0;
  for (const Tensor& part : in) {
    const std::int64_t start = begin * strides[static_cast<std::size_t>(op.axis)];
    copy(part, all_of(part), out[0], offsets(part.shape().dims(), strides, start));
    begin += part.shape()[op.axis];
  }
}

void compute(const graph::Slice& op, Tensors in, Tensors out) {
  std::vector<std::vector<Dim>> indices;
  for (std::size_t axis = 0; axis < op.ranges.size(); ++axis) {
    const graph::ResolvedSlice picked = graph::pick(op.ranges[axis], in[0].shape()[static_cast<int>(axis)]);
    indices.emplace_back();
    for (Dim i = 0; i < picked.count; ++i) indices.back().push_back(picked.start + i * picked.step);
  }
  copy(in[0], product_offsets(indices, strides_of(in[0].shape())), out[0], all_of(out[0]));
}

void compute(const graph::Pad& op, Tensors in, Tensors out) {
  // For each axis: the output positions that have an input element, and the index of that element.
  std::vector<std::vector<Dim>> from, to;
  for (std::size_t axis = 0; axis < op.before.size(); ++axis) {
    const Dim size = in[0].shape()[static_cast<int>(axis)];
    from.emplace_back();
    to.emplace_back();
    for (Dim i = 0; i < out[0].shape()[static_cast<int>(axis)]; ++i) {
      const auto source = padded_source(op.mode, i - op.before[axis], size);
      if (!source) continue;
      from.back().push_back(*source);
      to.back().push_back(i);
    }
  }
  if (op.mode == graph::PadMode::constant) {
    write(out[0], std::vector<double>(static_cast<std::size_t>(out[0].size()), op.value));
  }
  copy(in[0], product_offsets(from, strides_of(in[0].shape())), out[0],
       product_offsets(to, strides_of(out[0].shape())));
}

void compute(const graph::Gather& op, Tensors in, Tensors out) {
  const Shape& table = in[0].shape();
  const std::vector<Dim> rows = rows_named_by(in[1], table[op.axis]);
  // The output has the shape table[:axis] + indices + table[axis+1:], with the indices as one axis.
  std::vector<std::vector<Dim>> taken_of(static_cast<std::size_t>(table.rank()));
  for (int axis = 0; axis < table.rank(); ++axis) {
    auto& list = taken_of[static_cast<std::size_t>(axis)];
    if (axis == op.axis) {
      list = rows;
    } else {
      for (Dim i = 0; i < table[axis]; ++i) list.push_back(i);
    }
  }
  copy(in[0], product_offsets(taken_of, strides_of(table)), out[0], all_of(out[0]));
}

}  // namespace attn::backends::reference
