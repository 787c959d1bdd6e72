// `attn bench --parallel`: passes over a model that is split over ranks.
#pragma once

#include <functional>

#include "attn/open/model.h"
#include "attn/report/bench/parallel_bench.h"
#include "bench/plan.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Measures one setting on all ranks, and adds it to the report. Then runs the whole model on rank 0 and compares the
/// outputs. Every rank calls it. `load` returns the model for the setting. Returns the exit code; if it is not 0, the
/// error has been printed.
[[nodiscard]] int measure_shared(const BenchPlan& plan, const std::function<const open::LoadedModel&()>& load,
                                 const backends::Backend& backend, Ranks& ranks, report::ParallelBenchReport& report);

}  // namespace attn::cli
