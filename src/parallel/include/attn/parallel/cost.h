// The predicted cost of a parallelized graph: counts are exact, times follow from a cluster's figures.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/cluster.h"
#include "attn/parallel/parallelize.h"
#include "attn/parallel/rows.h"

namespace attn::parallel {

/// The collectives of one kind in one pass over a graph.
struct CollectiveCost {
  communicators::Collective collective = communicators::Collective::all_reduce;
  std::int64_t count = 0;
  std::int64_t bytes = 0;  ///< bytes of the whole arrays, as Communicator counts them
  double seconds = 0;
};

/// One collective of a graph.
struct CollectiveCall {
  communicators::Collective collective = communicators::Collective::all_reduce;
  std::int64_t bytes = 0;
  std::string layer;
};

/// Returns the collectives in the order of execution.
[[nodiscard]] std::vector<CollectiveCall> collective_calls(const graph::Graph& graph);
[[nodiscard]] std::vector<CollectiveCost> collective_costs(const graph::Graph& graph, const Cluster& cluster,
                                                           int ranks);

/// Returns the seconds of a pass without collectives. A node's time is the longer of two: its arithmetic at the
/// reachable fraction of the peak, and the reading of its weights.
[[nodiscard]] double compute_seconds(const graph::Graph& graph, const Cluster& cluster);

/// The predicted times of a pass over a model, on one rank and on several.
struct Prediction {
  double alone = 0;       ///< seconds on one rank
  double compute = 0;     ///< seconds of the slowest rank without collectives
  double collective = 0;  ///< seconds in collectives
  [[nodiscard]] double seconds() const { return compute + collective; }
  [[nodiscard]] double speed_up() const { return seconds() > 0 ? alone / seconds() : 1; }
};
[[nodiscard]] Prediction predict(const graph::Graph& model, Kind kind, int ranks, const Cluster& cluster);
/// Predicts a pass on groups of `ranks` neighboring ranks; each group computes some of the rows. The outputs are
/// gathered from all groups. Throws Error (usage) as rows_of_group() does.
[[nodiscard]] Prediction predict(const graph::Graph& model, Kind kind, int ranks, int groups, const Cluster& cluster);
/// Returns the all-gathers of the outputs: one for each output whose rows are distributed over groups.
[[nodiscard]] std::vector<CollectiveCall> gathers(const graph::Graph& model, const GroupRows& rows);
[[nodiscard]] double seconds_across(const Cluster& cluster, const CollectiveCall& call, int ranks, int groups);

/// Returns the weak-scaling efficiency of a training step with a fixed number of rows per rank. The all-reduce of the
/// gradients of `weights` parameters overlaps with four fifths of the backward pass. Its last bucket (a tenth) does not
/// overlap.
[[nodiscard]] double training_efficiency(double forward_seconds, std::int64_t weights, int ranks,
                                         const Cluster& cluster);
/// Returns the weak-scaling efficiency of a training step on `groups` groups of `ranks` ranks, relative to one rank
/// with memory for all weights. `pass` is the prediction for one group, whose ranks hold `local` of the weights each.
[[nodiscard]] double training_efficiency(const Prediction& pass, std::int64_t weights, std::int64_t local, int ranks,
                                         int groups, const Cluster& cluster);

}  // namespace attn::parallel
