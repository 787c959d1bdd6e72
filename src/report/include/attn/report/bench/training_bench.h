// Benchmarks of training steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"

namespace attn::report {

/// The time of all nodes with one operation and kernel in a step.
struct TrainingShare {
  std::string operation;  ///< operation and kernel: "matmul: panels", "optimizer"
  std::int64_t count = 0;
  double ms = 0;
};

struct TrainingBenchRow {
  Setting setting;
  std::int64_t iterations = 0;  ///< number of timed steps
  run::Latency ms;              ///< time of a step: forward, backward and the optimizer
  double prepare_ms = 0;        ///< time for planning and compiling
  /// The losses of the first steps, which are not timed. The data and weights are the same in every row.
  std::vector<double> losses;
  double samples_per_second = 0;
  std::int64_t told_bytes = 0, peak_bytes = 0;  ///< of the process: the prediction before training, and the measured
                                                ///< peak
  std::vector<TrainingShare> profile;           ///< sorted by time; empty unless requested
  bool partial = false;                         ///< whether the benchmark was interrupted
};

struct TrainingBenchReport {
  std::string machine, optimizer, loss;
  bool recomputes = false;
  std::vector<TrainingBenchRow> rows;
};

/// table, markdown, csv: a row for each measurement, with its ratio to the first of equal batch and length. json:
/// "attn.bench-train/1".
[[nodiscard]] std::string render(Format format, const TrainingBenchReport& report);

}  // namespace attn::report
