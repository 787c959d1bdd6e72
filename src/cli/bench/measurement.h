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

/// Runs the session until its times are stable, and sets those of the row; `flops` are those of one pass. A GPU's times
/// are measured on the device, for passes whose inputs are already there. Warns if an output is not finite. Returns
/// false if it was stopped before the first pass was timed.
bool time_session(run::Session& session, std::span<const Tensor> inputs, double flops, const run::BenchOptions& options,
                  const Console& console, report::BenchRow& row);

/// Returns the dtype of the peaks for a measurement with this setting.
[[nodiscard]] DType dtype_of_row(const report::Setting& setting);

/// Returns the peaks of products of bytes, or those of all other operations.
using PeaksOf = std::function<const run::Peaks&(bool of_bytes)>;

/// Returns the median of a few passes, step by step, each with its bound.
[[nodiscard]] std::vector<report::ProfileRow> profile_session(run::Session& session, std::span<const Tensor> inputs,
                                                              const PeaksOf& peaks_of);

}  // namespace attn::cli
