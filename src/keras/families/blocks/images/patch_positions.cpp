#include "families/blocks/images/patch_positions.h"

#include <vector>

#include "classes/ops/expression.h"

namespace attn::keras {

PatchPositions patch_positions(Call& call, graph::ValueId positions) {
  const std::vector<graph::ValueId>& parts = call.lowering().common(fmt::format("positions in %{}", positions), [&] {
    graph::Builder& b = call.builder();
    const Shape shape = b.shape(positions);
    if (shape.rank() != 3 || shape[2] != 2)
      throw bad_input("expected positions (images, patches, 2), got {}", shape.str());
    const auto part = [&](Dim i) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {i, i + 1, 1}};
      return Expression(b, b.reshape(b.apply(slice, {positions}), {shape[0], shape[1]}));
    };
    const Expression x = part(0), y = part(1);
    const Expression shown = ((x == -1.0) & (y == -1.0)).unary(graph::UnaryFn::logical_not);
    return std::vector{x.id, y.id, shown.id};
  });
  return {parts[0], parts[1], parts[2]};
}

}  // namespace attn::keras
