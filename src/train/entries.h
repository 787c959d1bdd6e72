// Gradients that are lists of entries. Private to the room.
#pragma once

#include <optional>

#include "attn/graph/graph.h"

namespace attn::train {

struct EntrySums {
  graph::ValueId sum = graph::kNone, squares = graph::kNone;
};

/// Where a gradient is made of looked-up rows alone, Σ of them and Σ of their squares, each entry clipped to ±`clip`
/// first where that is given; nothing where it has a dense part.
[[nodiscard]] std::optional<EntrySums> entry_sums(graph::Graph& graph, graph::ValueId gradient,
                                                  std::optional<double> clip);

}  // namespace attn::train
