// A training that the command line asks for, ready for its first step.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "attn/communicators/communicator.h"
#include "attn/report/training.h"
#include "attn/train/expected_losses.h"
#include "attn/train/job.h"
#include "ranks/facts.h"
#include "training/options.h"

namespace attn::cli {

struct PreparedTraining : train::Job {
  std::optional<train::ExpectedLosses> expected;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// The facts about it that are known before its first step.
  [[nodiscard]] report::TrainingReport describe(const open::Execution& execution) const;
};

/// Makes all of it: whatever can fail before the first step does so here. `ranks` may be null; `writes`: this process
/// is the one that writes. Throws Error.
void prepare(PreparedTraining& job, const TrainingOptions& options, communicators::Communicator* ranks, bool writes);

/// The facts on which ranks must agree.
[[nodiscard]] std::vector<Fact> facts_of(const PreparedTraining& job, const TrainingOptions& options);

}  // namespace attn::cli
