// Several ranks that share a model, as plain values.
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
  double seconds = 0;  ///< of the pass
  /// Of these, in collectives: waiting for others too. Nothing where nobody has measured it, as on GPUs.
  std::optional<double> collective_seconds;
  std::int64_t peak_bytes = 0;
  std::int64_t threads = 0;
};

struct CollectiveReport {
  std::string op;
  std::int64_t count = 0, bytes = 0;
  std::optional<double> seconds;    ///< of rank 0; nothing where nobody has measured it
  std::optional<double> predicted;  ///< by a cluster's figures
};

/// How ranks ran a model together.
struct ParallelReport {
  std::string kind;
  int ranks = 1;  ///< in all
  int data = 1;   ///< groups of ranks that share the rows of the batch, where each of them shares the model
  std::string launcher, library;
  std::vector<parallel::Shared> split;
  std::vector<CollectiveReport> collectives;
  std::vector<RankReport> per_rank;
};

/// What would be shared out, and what that is predicted to take.
struct ParallelPlanReport {
  std::string model;
  std::string kind;
  int ranks = 1;  ///< in all
  int data = 1;   ///< groups of ranks that share the rows of the batch, where each of them shares the model
  parallel::Cluster cluster;
  std::vector<parallel::Shared> split;
  std::vector<parallel::CollectiveCost> collectives;
  std::vector<parallel::CollectiveCall> meetings;
  std::int64_t weight_bytes = 0, local_weight_bytes = 0;  ///< of the model, and of the rank with the largest share
  parallel::Prediction prediction;
  std::vector<std::pair<int, double>> speed_ups;     ///< of a pass, by ranks
  std::vector<std::pair<int, double>> efficiencies;  ///< of a training step shared out by data, by ranks
};

}  // namespace attn::report
