// Gradients that are lists of entries. Private to the room.
#pragma once

#include <optional>

#include "attn/graph/graph.h"

namespace attn::train {

/// Σ of a gradient's entries, of their squares and of their magnitudes. A dense gradient is its own sum, without the
/// others.
struct EntrySums {
  graph::ValueId sum = graph::kNone, squares = graph::kNone, sizes = graph::kNone;
};

struct EntryOptions {
  graph::ValueId limit = graph::kNone;  ///< a number: each entry is clipped to ± that first
  bool sizes = false;                   ///< whether they are asked for
};

/// Nothing where a gradient is not made of looked-up rows alone.
[[nodiscard]] std::optional<EntrySums> entry_sums(graph::Graph& graph, graph::ValueId gradient,
                                                  const EntryOptions& options);

}  // namespace attn::train
