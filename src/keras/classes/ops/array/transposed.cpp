#include "classes/ops/array/transposed.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Inserts stride − 1 zeros between the cells of spatial axis i of x. Also adds zeros before and after, so that a
/// kernel of `size` cells can slide over them.
ValueId spread(graph::Builder& b, ValueId x, int i, Dim size, const TransposedWindow& how) {
  const auto at = static_cast<std::size_t>(i);
  const int axis = i + 1;
  const std::int64_t stride = how.strides[at];
  const auto span = checked_mul(size - 1, how.dilation[at]);
  if (!span || *span > kMaxSize / 4 || stride > kMaxSize / 4)
    throw bad_input("a kernel of {} with the dilation {} and the stride {} is too large", size, how.dilation[at],
                    stride);
  const std::int64_t window = *span + 1;
  // For I cells of the input, the output has (I − 1)·stride + extent cells; the first `cut` cells of the full result
  // are omitted.
  std::int64_t extent = 0, cut = 0;
  if (how.same) {
    extent = how.output_padding ? window % 2 + (*how.output_padding)[at] : stride;
    cut = std::max<std::int64_t>(window - extent, 0) / 2;
  } else {
    extent = how.output_padding ? window + (*how.output_padding)[at] : std::max(window, stride);
  }
  if (extent < 1) throw bad_input("output_padding {} is too small for a kernel of {}", extent - window % 2, window);

  std::int64_t after = extent - 1 + cut;
  if (stride > 1) {
    Shape spread_shape = b.shape(x);
    if (spread_shape[axis] != kUnknown) {
      const auto longer = checked_mul(spread_shape[axis], stride);
      if (!longer) throw bad_input("an axis of {} cannot be spread by a stride of {}", spread_shape[axis], stride);
      spread_shape[axis] = *longer;
    }
    x = b.expand_dims(x, axis + 1);
    graph::Pad zeros;
    zeros.before.assign(static_cast<std::size_t>(b.shape(x).rank()), 0);
    zeros.after = zeros.before;
    zeros.after[static_cast<std::size_t>(axis) + 1] = stride - 1;
    x = b.reshape(b.apply(zeros, {x}), spread_shape);
    after -= stride - 1;
  }
  const auto rank = static_cast<std::size_t>(b.shape(x).rank());
  graph::Pad pad;
  pad.before.assign(rank, 0);
  pad.after = pad.before;
  pad.before[static_cast<std::size_t>(axis)] = window - 1 - cut;
  pad.after[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(after, 0);
  x = b.apply(pad, {x});
  if (after >= 0) return x;
  graph::Slice slice;
  slice.ranges.resize(rank);
  slice.ranges[static_cast<std::size_t>(axis)].stop = after;
  return b.apply(slice, {x});
}

}  // namespace

ValueId transposed_convolution(graph::Builder& b, ValueId x, ValueId kernel, const TransposedWindow& window,
                               std::optional<ValueId> bias) {
  const int spatial = static_cast<int>(window.strides.size());
  // The kernel (window…, F, C) is flipped, and becomes (window…, C, F).
  graph::Slice flip;
  flip.ranges.resize(static_cast<std::size_t>(spatial) + 2);
  std::vector<int> order;
  for (int i = 0; i < spatial; ++i) {
    x = spread(b, x, i, b.shape(kernel)[i], window);
    flip.ranges[static_cast<std::size_t>(i)].step = -1;
    order.push_back(i);
  }
  order.insert(order.end(), {spatial + 1, spatial});
  graph::Conv conv;
  conv.strides.assign(window.strides.size(), 1);
  conv.dilation = window.dilation;
  conv.bias = bias.has_value();
  std::vector<ValueId> inputs = {x, b.transpose(b.apply(flip, {kernel}), order)};
  if (bias) inputs.push_back(*bias);
  return b.apply(conv, inputs);
}

}  // namespace attn::keras
