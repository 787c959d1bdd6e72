// `attn bench MODEL`: whole passes; with --ops the operations of a pass, each alone.
#pragma once

#include "attn/open/model.h"
#include "bench/plan.h"

namespace attn::cli {

/// Measures one setting of the model, and checks what it computed: against the reference backend where a pass is small
/// enough for its plain loops, else the first pass against the last. Throws Error.
void measure_model(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend);

/// Every distinct operation, the ones that take the most of a pass first.
void measure_operations(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend);

/// Says on stderr where what was measured was wrong.
void warn_of_wrong_outputs(const report::BenchRow& row, const Console& console);

}  // namespace attn::cli
