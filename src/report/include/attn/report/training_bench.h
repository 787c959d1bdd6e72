// Steps of training, measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"

namespace attn::report {

/// What all nodes of one operation and one kernel take of a step.
struct TrainingShare {
  std::string operation;  ///< "matmul: panels", "optimizer"
  std::int64_t count = 0;
  double ms = 0;
};

struct TrainingBenchRow {
  Setting setting;
  std::int64_t iterations = 0;  ///< steps that were timed
  run::Latency ms;              ///< of a step: forward, backward and the optimizer
  double prepare_ms = 0;        ///< planning and compiling
  /// Of the steps before those, from the first on: the same data and weights in every row.
  std::vector<double> losses;
  double samples_per_second = 0;
  std::int64_t told_bytes = 0, peak_bytes = 0;  ///< of the process: before training began, and in the end
  std::vector<TrainingShare> profile;           ///< the largest first, where it was asked for
  bool partial = false;                         ///< interrupted
};

struct TrainingBenchReport {
  std::string machine, optimizer, loss;
  bool recomputes = false;
  std::vector<TrainingBenchRow> rows;
};

/// table, markdown, csv: a row for each measurement, beside the time of the first with its batch and length.
/// json: "attn.bench-train/1".
[[nodiscard]] std::string render(Format format, const TrainingBenchReport& report);

}  // namespace attn::report
