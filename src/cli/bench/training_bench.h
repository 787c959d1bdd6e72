// `attn bench --train`: the time of training steps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/open/model.h"
#include "attn/report/bench/training_bench.h"
#include "bench/plan.h"

namespace attn::cli {

/// The optimizer, the loss and the data of the training.
struct TrainingSetup {
  std::optional<std::string> optimizer, loss;  ///< instead of the model's own; the defaults are adam and the mean
                                               ///< squared error
  std::vector<std::string> data;               ///< files; random numbers if empty
  bool recomputes = false;
};

/// Returns the optimizer and the loss of the setup, else of the model, else the defaults, as JSON of a compile_config.
[[nodiscard]] std::string compile_config_of(const TrainingSetup& setup, const keras::Model& model);

/// Trains on all rows of the data, or on random numbers with the plan's seed. Runs some steps whose losses are kept,
/// then the timed steps. Adds a row to the report.
void measure_training(const BenchPlan& plan, const TrainingSetup& setup, const open::LoadedModel& loaded,
                      const backends::Backend& backend, report::TrainingBenchReport& report);

}  // namespace attn::cli
