// The predicted cost of a model on a cluster.
#pragma once

#include "attn/open/model.h"
#include "attn/parallel/cluster.h"
#include "attn/report/parallel_report.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Parses --cluster: a name, JSON, or a file of it (.json), which `attn doctor --parallel --json` may have written.
/// Throws Error.
[[nodiscard]] parallel::Cluster cluster_named(const std::string& word);

/// Throws Error (usage) if the word has no number of ranks, or the model cannot be split over so many.
[[nodiscard]] report::ParallelPlanReport parallel_plan(const open::LoadedModel& loaded,
                                                       const keras::LowerOptions& lower, const ParallelWord& word,
                                                       const parallel::Cluster& cluster);

}  // namespace attn::cli
