// The gradients of Slice and of Gather: numbers written or added into zeros.
#include "attn/base/error.h"
#include "attn/graph/range.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"
#include "rows.h"

namespace attn::backends::reference {

void compute(const graph::Scatter& op, Tensors in, Tensors out) {
  const Offsets strides = strides_of(op.shape);
  Offsets steps;
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < op.ranges.size(); ++axis) {
    const graph::ResolvedSlice picked = graph::pick(op.ranges[axis], op.shape[static_cast<int>(axis)]);
    start += picked.start * strides[axis];
    steps.push_back(picked.step * strides[axis]);
  }
  const Offsets places = offsets(in[0].shape().dims(), steps, start);
  with_ring_of(out[0].dtype(), [&](auto zero) {
    using Number = decltype(zero);
    const auto x = read<Number>(in[0]);
    std::vector<Number> y(static_cast<std::size_t>(out[0].size()), zero);
    for (std::size_t i = 0; i < x.size(); ++i) y[static_cast<std::size_t>(places[i])] = x[i];
    write(out[0], y);
  });
}

void compute(const graph::ScatterAdd& op, Tensors in, Tensors out) {
  const Shape& table = out[0].shape();
  const std::vector<Dim> rows = rows_named_by(in[1], op.size);
  const std::int64_t before = table.slice(0, op.axis).size();
  const std::int64_t behind = table.slice(op.axis + 1, table.rank()).size();
  with_ring_of(out[0].dtype(), [&](auto zero) {
    using Number = decltype(zero);
    const auto updates = read<Number>(in[0]);
    std::vector<Number> y(static_cast<std::size_t>(out[0].size()), zero);
    std::size_t next = 0;
    for (std::int64_t i = 0; i < before; ++i) {
      for (const Dim row : rows) {
        Number* const to = y.data() + (i * op.size + row) * behind;
        for (std::int64_t j = 0; j < behind; ++j) to[j] += updates[next++];
      }
    }
    write(out[0], y);
  });
}

}  // namespace attn::backends::reference
