// A training as the command line requests it, ready for its first step.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "attn/communicators/communicator.h"
#include "attn/report/training.h"
#include "attn/train/expected_losses.h"
#include "attn/train/job.h"
#include "ranks/fingerprints.h"
#include "training/options.h"

namespace attn::cli {

struct PreparedTraining : train::Job {
  std::optional<train::ExpectedLosses> expected;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// Returns the facts about the training that are known before its first step.
  [[nodiscard]] report::TrainingReport describe(const open::Execution& execution) const;
};

/// Prepares the whole training, so that errors appear before the first step. `ranks` may be null. `writes` is true in
/// the process that writes. Throws Error.
void prepare(PreparedTraining& job, const TrainingOptions& options, communicators::Communicator* ranks, bool writes);

/// Returns the fingerprints on which ranks must agree.
[[nodiscard]] std::vector<Fingerprint> fingerprints_of(const PreparedTraining& job, const TrainingOptions& options);

}  // namespace attn::cli
