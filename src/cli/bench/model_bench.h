// `attn bench MODEL`: whole passes; with --ops each operation of a pass separately.
#pragma once

#include "attn/open/model.h"
#include "bench/plan.h"

namespace attn::cli {

/// Measures one setting of the model, and checks its outputs. A small pass is compared with the reference backend;
/// otherwise the first pass is compared with the last. Throws Error.
void measure_model(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend);

/// Measures every distinct operation, in the order of its share of the time of a pass.
void measure_operations(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend);

/// Warns if outputs are wrong.
void warn_of_wrong_outputs(const report::BenchRow& row, const Console& console);

}  // namespace attn::cli
