// The predicted cost of a model on a cluster.
#pragma once

#include "attn/open/model.h"
#include "attn/parallel/cluster.h"
#include "attn/report/parallel_report.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Parses --cluster: a name, JSON, or the name of a .json file with either. `attn doctor --parallel --json` writes such
/// a file. Throws Error.
[[nodiscard]] parallel::Cluster cluster_named(const std::string& word);

/// Predicts the cost of the model on the cluster. Throws Error (usage) if `word` has no number of ranks, or the model
/// cannot be split over this number.
[[nodiscard]] report::ParallelPlanReport parallel_plan(const open::LoadedModel& loaded,
                                                       const keras::LowerOptions& lower, const ParallelWord& word,
                                                       const parallel::Cluster& cluster);

}  // namespace attn::cli
