// Layout operations that several lowerings use.
#pragma once

#include <span>

#include "attn/graph/graph.h"

namespace attn::keras {

/// Returns a Slice that selects everything.
[[nodiscard]] graph::Slice whole(int rank);
/// Returns the range `range` of one axis of x.
[[nodiscard]] graph::ValueId sliced(graph::Builder& b, graph::ValueId x, int axis, graph::Range range);
/// Moves the axes `from` of x to the positions `to`; the others keep their order. All are counted from the front.
[[nodiscard]] graph::ValueId moved(graph::Builder& b, graph::ValueId x, std::span<const int> from,
                                   std::span<const int> to);
/// Repeats every element of an axis `count` times.
[[nodiscard]] graph::ValueId repeated(graph::Builder& b, graph::ValueId x, int axis, std::int64_t count);
/// Gathers, for every element of `indices` (int64), the element of x with that index along `axis` and the same position
/// in the other axes, which broadcast. Throws Error (bad_input) if the shapes do not match.
[[nodiscard]] graph::ValueId taken_along(graph::Builder& b, graph::ValueId x, graph::ValueId indices, int axis);
/// Returns dim · factor; unknown if dim is. Throws Error (bad_input) if it exceeds kMaxSize.
[[nodiscard]] Dim times(Dim dim, std::int64_t factor);

}  // namespace attn::keras
