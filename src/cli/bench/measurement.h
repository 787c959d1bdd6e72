// Times a session and says what came of it.
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

/// Runs the session until its times are known, and fills in the row's; `flops` are those of one pass. On a GPU the
/// times are the device's own, of passes over inputs that are there. Warns where an output is not finite: a speed of
/// wrong numbers is none. False where it was stopped before the first pass was timed.
bool time_session(run::Session& session, std::span<const Tensor> inputs, double flops, const run::BenchOptions& options,
                  const Console& console, report::BenchRow& row);

/// The dtype whose peaks a measurement of this setting is held against.
[[nodiscard]] DType dtype_of_row(const report::Setting& setting);

/// The peaks that bound products of bytes, and those that bound everything else.
using PeaksOf = std::function<const run::Peaks&(bool of_bytes)>;

/// The median pass of a few, step by step, each with its bound.
[[nodiscard]] std::vector<report::ProfileRow> profile_session(run::Session& session, std::span<const Tensor> inputs,
                                                              const PeaksOf& peaks_of);

}  // namespace attn::cli
