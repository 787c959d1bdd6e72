// Steps of training, measured: attn bench --train.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/open/model.h"
#include "attn/report/training_bench.h"
#include "bench/plan.h"

namespace attn::cli {

/// What is trained, and how.
struct TrainingSetup {
  std::optional<std::string> optimizer, loss;  ///< in place of the model's own; else adam and the mean squared error
  std::vector<std::string> data;               ///< files; random numbers without any
  bool recomputes = false;
};

/// The optimizer and the loss that the setup, the model or nobody names, as JSON of a compile_config.
[[nodiscard]] std::string compile_config_of(const TrainingSetup& setup, const keras::Model& model);

/// Trains on all rows of the data, or on random numbers by the plan's seed: some steps whose losses are kept, then as
/// many as are to be timed. Adds a row to the report.
void measure_training(const BenchPlan& plan, const TrainingSetup& setup, const open::LoadedModel& loaded,
                      const backends::Backend& backend, report::TrainingBenchReport& report);

}  // namespace attn::cli
