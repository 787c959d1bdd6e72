// Gradients of embedding tables as lists of entries, one for each lookup. Private to the module.
#pragma once

#include <optional>

#include "attn/graph/graph.h"

namespace attn::train {

/// Σ of a gradient's entries, of their squares and of their magnitudes. A dense gradient has only the sum.
struct EntrySums {
  graph::ValueId sum = graph::kNone, squares = graph::kNone, sizes = graph::kNone;
};

struct EntryOptions {
  graph::ValueId limit = graph::kNone;  ///< a scalar: each entry is clipped to ± this value first
  bool sizes = false;                   ///< whether magnitudes are needed
};

/// Appends the sums to the graph. Returns nothing if the gradient has terms that do not come from lookups of rows.
[[nodiscard]] std::optional<EntrySums> entry_sums(graph::Graph& graph, graph::ValueId gradient,
                                                  const EntryOptions& options);

}  // namespace attn::train
