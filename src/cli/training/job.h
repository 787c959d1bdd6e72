// A training that is ready for its first step.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/communicators/communicator.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"
#include "attn/report/training.h"
#include "attn/train/epoch_callbacks.h"
#include "attn/train/expected_losses.h"
#include "attn/train/fit.h"
#include "attn/train/state.h"
#include "ranks/facts.h"
#include "training/options.h"

namespace attn::cli {

/// All parts of a training.
struct TrainingJob {
  train::FitOptions options;
  std::unique_ptr<backends::Backend> backend;
  std::optional<open::LoadedModel> loaded;
  std::string compiled;  ///< its compile_config, as JSON
  optimizers::Settings settings;
  open::GivenInputs given, held_out;
  std::optional<train::Data> rows, validation_rows;
  std::optional<train::ExpectedLosses> expected;
  train::State state;
  keras::LossGraph shown;  ///< of the first batch
  std::optional<train::EpochCallbacks> callbacks;
  std::unique_ptr<train::Trainer> trainer;
  std::vector<Tensor> taken_over;  ///< the optimizer's variables from a file
  std::int64_t memory = 0;         ///< bytes that training takes
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// Returns the first rows of the data, one batch of them.
  [[nodiscard]] train::Batch first_batch() const;
  /// Returns the report of a training before its first step.
  [[nodiscard]] report::TrainingReport describe(const open::Execution& execution) const;
};

/// Prepares all parts: errors that can be found before the first step are thrown here. `ranks` may be null; `writes`:
/// this process writes the outputs. Throws Error.
void prepare(TrainingJob& job, const TrainingOptions& options, communicators::Communicator* ranks, bool writes);

/// Returns the facts that ranks must agree on.
[[nodiscard]] std::vector<Fact> facts_of(const TrainingJob& job, const TrainingOptions& options);

}  // namespace attn::cli
