// What a cluster would take for a model, without one.
#pragma once

#include "attn/open/model.h"
#include "attn/parallel/cluster.h"
#include "attn/report/parallel_report.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// What --cluster says: a name, JSON, or a file of it (.json), which may be what `attn doctor --parallel --json` wrote.
/// Throws Error.
[[nodiscard]] parallel::Cluster cluster_named(const std::string& word);

/// Throws Error (usage) where the word has no number of ranks, or so many cannot share the model.
[[nodiscard]] report::ParallelPlanReport parallel_plan(const open::LoadedModel& loaded,
                                                       const keras::LowerOptions& lower, const ParallelWord& word,
                                                       const parallel::Cluster& cluster);

}  // namespace attn::cli
