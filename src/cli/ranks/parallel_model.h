// A model as one rank of several has it: what run and bench share.
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

/// The graph and the weights of this rank, and the inputs, which every rank has whole.
struct ParallelModel {
  parallel::Parallel local;
  std::vector<Tensor> weights, inputs;
  std::vector<Fact> facts;        ///< on which all ranks agree
  graph::Graph whole;             ///< the model's
  parallel::RowsOfGroup rows;     ///< of several groups, what each has of what comes out
  std::int64_t memory_bytes = 0;  ///< the most that this process will take
};

/// Reads all that a rank needs. Throws Error.
[[nodiscard]] ParallelModel prepare_parallel(const open::LoadedModel& loaded, const open::GivenInputs& given,
                                             const backends::Backend& backend, const open::Execution& execution,
                                             bool scores, Ranks& ranks, const Console& console);

/// Outputs, or scores, as all groups have them together; every rank calls it. `rows` are those of the model's rows.
[[nodiscard]] std::vector<NamedTensor> gather_groups(Ranks& ranks, std::vector<NamedTensor> own,
                                                     const std::vector<std::vector<Dim>>& rows);

/// What all ranks tell of a pass of so many seconds; every rank calls it.
[[nodiscard]] report::ParallelReport parallel_report(Ranks& ranks, std::vector<parallel::Shared> split,
                                                     const communicators::Counts& counts, double seconds, int threads);

}  // namespace attn::cli
