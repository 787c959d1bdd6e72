#include "families/blocks/images/interleaved.h"

#include "classes/ops/expression.h"

namespace attn::keras {

graph::ValueId interleaved(graph::Builder& b, graph::ValueId texts, graph::ValueId rows, graph::ValueId indices) {
  const Shape shape = b.shape(texts), count = b.shape(indices);
  const Expression places(b, b.expand_dims(indices, 2));  // (B,K,1)
  const Expression positions(b, b.apply(graph::Iota{{1, 1, shape[1]}, DType::int32, 2}, {}));
  const Expression numbers(b, b.apply(graph::Iota{{1, count[1], 1}, DType::int32, 1, 1.0, 1.0}, {}));
  const Expression found = (places.cast(DType::int32) == positions).cast(DType::int32) * numbers;
  // The number of the row for each position, from 1 on; 0 for text.
  const Expression row = found.reduced({graph::ReduceFn::max, {1}});
  const Expression own(b, b.apply(graph::Iota{{1, shape[1]}, DType::int32, 1}, {}));
  const Expression is_image = (row > 0.0) & (own > 0.0);
  const Expression first(b,
                         b.apply(graph::Iota{{shape[0], 1}, DType::int32, 0, -1.0, static_cast<double>(count[1])}, {}));
  const Expression which = max(row + first, row.number(0.0));
  const graph::ValueId flat = b.reshape(rows, {shape[0] * count[1], shape[2]});
  const Expression picked(b, b.apply(graph::Gather{0}, {flat, which.id}));
  return where({b, b.expand_dims(is_image, 2)}, picked.cast(b.dtype(texts)), {b, texts});
}

}  // namespace attn::keras
