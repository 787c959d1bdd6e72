// `attn bench --parallel`: passes over a model that ranks share.
#pragma once

#include <functional>

#include "attn/open/model.h"
#include "attn/report/parallel_bench.h"
#include "bench/plan.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Measures one setting on all ranks, which all call it, and adds it to the report; then the model on rank 0 alone,
/// whose outputs the others' are compared with. `load` gives the model for the setting. Gives the exit code; one that
/// is not 0 has been told.
[[nodiscard]] int measure_shared(const BenchPlan& plan, const std::function<const open::LoadedModel&()>& load,
                                 const backends::Backend& backend, Ranks& ranks, report::ParallelBenchReport& report);

}  // namespace attn::cli
