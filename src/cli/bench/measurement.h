// Measures a session.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/report/values.h"
#include "attn/run/bench.h"
#include "attn/run/peaks.h"
#include "attn/run/session.h"
#include "output/console.h"

namespace attn::cli {

/// Runs the session until its times are stable, and stores them in the row; `flops` are those of one pass. On a GPU,
/// the times are measured on the device, for inputs that are already there. Warns if an output is not finite. Returns
/// false if it was stopped before the first pass was timed.
bool time_session(run::Session& session, std::span<const Tensor> inputs, double flops, const run::BenchOptions& options,
                  const Console& console, report::BenchRow& row);

/// Returns the dtype whose peaks apply to this setting.
[[nodiscard]] DType dtype_of_row(const report::Setting& setting);

/// Returns the peaks of int8 products, or those of all other operations.
using PeaksFor = std::function<const run::Peaks&(bool of_bytes)>;

/// Runs a few passes, and returns for each step the median time and its lower bound.
[[nodiscard]] std::vector<report::ProfileRow> profile_session(run::Session& session, std::span<const Tensor> inputs,
                                                              const PeaksFor& peaks_of);

}  // namespace attn::cli
