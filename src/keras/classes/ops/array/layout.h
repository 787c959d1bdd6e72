// Layout operations that several lowerings use.
#pragma once

#include <span>

#include "attn/graph/graph.h"

namespace attn::keras {

/// A Slice of everything.
[[nodiscard]] graph::Slice whole(int rank);
/// Takes `range` of one axis of x.
[[nodiscard]] graph::ValueId sliced(graph::Builder& b, graph::ValueId x, int axis, graph::Range range);
/// Moves the axes `from` of x to the positions `to`, with the others in order; all counted from the front.
[[nodiscard]] graph::ValueId moved(graph::Builder& b, graph::ValueId x, std::span<const int> from,
                                   std::span<const int> to);
/// Repeats every element of an axis `count` times.
[[nodiscard]] graph::ValueId repeated(graph::Builder& b, graph::ValueId x, int axis, std::int64_t count);
/// Gathers, for every element of `indices` (int64), the element of x with that index along `axis` and the same position
/// in the other axes, which broadcast. Throws Error (bad_input) if the shapes do not match.
[[nodiscard]] graph::ValueId taken_along(graph::Builder& b, graph::ValueId x, graph::ValueId indices, int axis);
/// dim · factor; unknown if dim is. Throws Error (bad_input) if it exceeds kMaxSize.
[[nodiscard]] Dim times(Dim dim, std::int64_t factor);

}  // namespace attn::keras
