// What a graph that is shared out is predicted to take: counts are exact, times are those of a cluster's figures.
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

/// The collectives of one kind, in one pass over a graph.
struct CollectiveCost {
  communicators::Collective collective = communicators::Collective::all_reduce;
  std::int64_t count = 0;
  std::int64_t bytes = 0;  ///< of the whole arrays, as Communicator counts them
  double seconds = 0;
};

/// One collective of a graph.
struct Meeting {
  communicators::Collective collective = communicators::Collective::all_reduce;
  std::int64_t bytes = 0;
  std::string layer;
};

/// In the order in which ranks come to them.
[[nodiscard]] std::vector<Meeting> meetings(const graph::Graph& graph);
[[nodiscard]] std::vector<CollectiveCost> collective_costs(const graph::Graph& graph, const Cluster& cluster,
                                                           int ranks);

/// Seconds of a pass without collectives: for every node its arithmetic at the reachable share of the peak, or its
/// traffic, whichever is longer.
[[nodiscard]] double compute_seconds(const graph::Graph& graph, const Cluster& cluster);

/// A pass over a model on one rank and on several.
struct Prediction {
  double alone = 0;       ///< seconds on one rank
  double compute = 0;     ///< of the slowest rank, without collectives
  double collective = 0;  ///< seconds in collectives
  [[nodiscard]] double seconds() const { return compute + collective; }
  [[nodiscard]] double speed_up() const { return seconds() > 0 ? alone / seconds() : 1; }
};
[[nodiscard]] Prediction predict(const graph::Graph& model, Kind kind, int ranks, const Cluster& cluster);
/// The same for groups of `ranks` ranks, neighbours, that share the rows. What comes out is gathered from all groups.
/// Throws Error (usage) as rows_of_group() does.
[[nodiscard]] Prediction predict(const graph::Graph& model, Kind kind, int ranks, int groups, const Cluster& cluster);
/// What it takes to gather that: a meeting for each output that groups share.
[[nodiscard]] std::vector<Meeting> gathers(const graph::Graph& model, const RowsOfGroup& rows);
[[nodiscard]] double seconds_across(const Cluster& cluster, const Meeting& meeting, int ranks, int groups);

/// Of a training step with so many rows for each rank: the share of one rank's speed that each of several keeps. The
/// gradients of `weights` numbers are added up behind the backward pass, which hides them for four fifths of it; of the
/// last bucket, a tenth, nothing is hidden.
[[nodiscard]] double training_efficiency(double forward_seconds, std::int64_t weights, int ranks,
                                         const Cluster& cluster);
/// The same of `groups` groups of `ranks` ranks: `pass` is that of one group, a rank of which has `local` of the
/// weights, and the speed is one rank's that had memory for all.
[[nodiscard]] double training_efficiency(const Prediction& pass, std::int64_t weights, std::int64_t local, int ranks,
                                         int groups, const Cluster& cluster);

}  // namespace attn::parallel
