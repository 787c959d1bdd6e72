// From the graph of a model to the graph of one of several ranks that compute it together: a pass that gives each value
// to every rank whole, or a part of it to each, and puts collectives where ranks need what others have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/parallel/kind.h"
#include "attn/parallel/split.h"

namespace attn::parallel {

/// A weight of a rank's graph: all of a weight of the model, a part of it, or zeros in its place.
struct LocalWeight {
  std::int32_t weight = graph::kNone;  ///< index into the model's weights
  std::vector<Split> splits;           ///< one behind the other; none: all of it
  bool zeros = false;                  ///< a bias that another rank adds
};

/// What was shared out, for people: "16 heads: 6 5 5".
struct Shared {
  std::string layer;
  std::string what;  ///< "heads", "columns", "vocabulary", "rows", "positions"
  std::vector<Dim> sizes;
};

struct Parallel {
  graph::Graph graph;                   ///< of this rank; its outputs are whole on every rank
  std::vector<LocalWeight> weights;     ///< by weight of `graph`
  std::vector<Shared> shared;           ///< in the order of the graph
  std::vector<std::string> left_whole;  ///< what could have been shared out and was not, and why: sentences
};

/// Rank `rank` of `ranks`. The graph's shapes must be known. Throws Error (usage) where nothing can be shared out among
/// so many, with the numbers of ranks that can.
[[nodiscard]] Parallel parallelize(const graph::Graph& graph, Kind kind, int rank, int ranks);

/// The numbers of a rank's weights out of the model's: views where they lie in a row, copies else.
[[nodiscard]] std::vector<Tensor> local_weights(const Parallel& parallel, std::span<const Tensor> weights, int rank);

}  // namespace attn::parallel
