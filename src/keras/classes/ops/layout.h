// Small steps of layout that several lowerings take.
#pragma once

#include <span>

#include "attn/graph/graph.h"

namespace attn::keras {

/// A Slice that takes everything.
[[nodiscard]] graph::Slice whole(int rank);
/// x with `range` of one axis.
[[nodiscard]] graph::ValueId sliced(graph::Builder& b, graph::ValueId x, int axis, graph::Range range);
/// x with the axes `from` at the places `to` and the others in order; all counted from the front.
[[nodiscard]] graph::ValueId moved(graph::Builder& b, graph::ValueId x, std::span<const int> from,
                                   std::span<const int> to);
/// x with every element of an axis `count` times in a row.
[[nodiscard]] graph::ValueId repeated(graph::Builder& b, graph::ValueId x, int axis, std::int64_t count);
/// For every element of `indices` (int64), the element of x with that index along `axis` and the same place in the
/// other axes, which broadcast. Throws Error (bad_input) where the shapes do not fit.
[[nodiscard]] graph::ValueId taken_along(graph::Builder& b, graph::ValueId x, graph::ValueId indices, int axis);
/// dim · factor, unknown where dim is. Throws Error (bad_input) where it passes kMaxSize.
[[nodiscard]] Dim times(Dim dim, std::int64_t factor);

}  // namespace attn::keras
