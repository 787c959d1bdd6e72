// A model that is split over ranks, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/parallel/cost.h"
#include "attn/parallel/parallelize.h"

namespace attn::report {

/// One rank of a run.
struct RankReport {
  std::string node;
  double seconds = 0;  ///< time of the pass
  /// The part of the pass in collectives, including waiting for other ranks. Empty if it was not measured, as on GPUs.
  std::optional<double> collective_seconds;
  std::int64_t peak_bytes = 0;
  std::int64_t threads = 0;
};

struct CollectiveReport {
  std::string op;
  std::int64_t count = 0, bytes = 0;
  std::optional<double> seconds;    ///< time on rank 0; empty if not measured
  std::optional<double> predicted;  ///< time predicted from the figures of a cluster
};

/// A run of a model by several ranks.
struct ParallelReport {
  std::string kind;
  int ranks = 1;  ///< total number of ranks
  int data = 1;   ///< number of data-parallel groups; inside each group, the model is split
  std::string launcher, library;
  std::vector<parallel::Shared> split;
  std::vector<CollectiveReport> collectives;
  std::vector<RankReport> per_rank;
};

/// A planned split of a model, and its predicted time.
struct ParallelPlanReport {
  std::string model;
  std::string kind;
  int ranks = 1;  ///< total number of ranks
  int data = 1;   ///< number of data-parallel groups; inside each group, the model is split
  parallel::Cluster cluster;
  std::vector<parallel::Shared> split;
  std::vector<parallel::CollectiveCost> collectives;
  std::vector<parallel::CollectiveCall> meetings;
  /// Bytes of the model's weights, and of those of the rank with the largest shard.
  std::int64_t weight_bytes = 0, local_weight_bytes = 0;
  parallel::Prediction prediction;
  std::vector<std::pair<int, double>> speed_ups;  ///< speed-up of a pass, by number of ranks
  /// Efficiency of a data-parallel training step, by number of ranks.
  std::vector<std::pair<int, double>> efficiencies;
};

}  // namespace attn::report
