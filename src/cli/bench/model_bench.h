// `attn bench MODEL`: whole passes; with --ops each operation of a pass separately.
#pragma once

#include "attn/open/model.h"
#include "bench/plan.h"

namespace attn::cli {

/// Measures one setting of the model, and checks its outputs: against the reference backend if a pass is small enough
/// for its plain loops, else the first pass against the last. Throws Error.
void measure_model(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend);

/// Measures every distinct operation, in order of their time in a pass.
void measure_operations(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend);

/// Warns of wrong outputs.
void warn_of_wrong_outputs(const report::BenchRow& row, const Console& console);

}  // namespace attn::cli
