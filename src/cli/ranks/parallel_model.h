// The part of a model on one of several ranks, for run and bench.
#pragma once

#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"
#include "attn/parallel/parallelize.h"
#include "attn/parallel/rows.h"
#include "attn/report/parallel_view.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// The graph and the weights of this rank, and the inputs, which are complete on every rank.
struct ParallelModel {
  parallel::Parallel local;
  std::vector<Tensor> weights, inputs;
  std::vector<Fingerprint> fingerprints;  ///< values that all ranks must agree on
  graph::Graph whole;                     ///< the graph of the whole model
  parallel::GroupRows rows;               ///< the output rows of each group, if there are several
  std::int64_t memory_bytes = 0;          ///< predicted peak memory of this process
};

/// Prepares all data of a rank. Throws Error.
[[nodiscard]] ParallelModel prepare_parallel(const open::LoadedModel& loaded, const open::GivenInputs& given,
                                             const backends::Backend& backend, const open::Execution& execution,
                                             bool scores, Ranks& ranks, const Console& console);

/// Joins the outputs, or the scores, of all groups; every rank calls it. `rows` has the model's rows of each group, by
/// output.
[[nodiscard]] std::vector<NamedTensor> gather_groups(Ranks& ranks, std::vector<NamedTensor> own,
                                                     const std::vector<std::vector<Dim>>& rows);

/// Collects the report of all ranks on a pass of this many seconds; every rank calls it.
[[nodiscard]] report::ParallelReport parallel_report(Ranks& ranks, std::vector<parallel::Shared> split,
                                                     const communicators::Counts& counts, double seconds, int threads);

}  // namespace attn::cli
