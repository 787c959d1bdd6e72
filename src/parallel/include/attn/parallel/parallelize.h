// Turns the graph of a model into the graph of one of several ranks that compute it together. Each value is either
// whole on every rank, or each rank has a shard of it. Collectives are inserted where ranks need others' shards.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/parallel/kind.h"
#include "attn/parallel/split.h"

namespace attn::parallel {

/// A weight of a rank's graph: a whole weight of the model, a shard of it, or zeros in its place.
struct LocalWeight {
  std::int32_t weight = graph::kNone;  ///< index into the model's weights
  std::vector<Split> splits;           ///< nested splits, applied in order; none: the whole weight
  bool zeros = false;                  ///< zeros in place of a bias that another rank adds
};

/// A description, for users, of what was sharded: "16 heads: 6 5 5".
struct Shared {
  std::string layer;
  std::string what;  ///< "heads", "columns", "vocabulary", "rows", "positions"
  std::vector<Dim> sizes;
};

struct Parallel {
  graph::Graph graph;                   ///< this rank's graph; its outputs are whole on every rank
  std::vector<LocalWeight> weights;     ///< one for each weight of `graph`
  std::vector<Shared> shared;           ///< the layers in the order of the graph
  std::vector<std::string> left_whole;  ///< sentences about what could have been sharded but was not, with the reason
};

/// Returns the graph of rank `rank` of `ranks`. The model's shapes must be known. Throws Error (usage) if nothing can
/// be sharded among this many ranks, with the numbers of ranks that work.
[[nodiscard]] Parallel parallelize(const graph::Graph& graph, Kind kind, int rank, int ranks);

/// Returns a rank's shards of the model's weights: views if they are contiguous, copies otherwise.
[[nodiscard]] std::vector<Tensor> local_weights(const Parallel& parallel, std::span<const Tensor> weights, int rank);

}  // namespace attn::parallel
