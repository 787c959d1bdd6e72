// Passes over a model that ranks share, measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/parallel/cluster.h"
#include "attn/report/format.h"
#include "attn/report/values.h"

namespace attn::report {

struct ParallelBenchRow {
  Setting setting;
  std::int64_t iterations = 0;  ///< passes that were timed
  run::Latency ms;              ///< of a pass, until the last rank is through
  /// Of a pass of rank 0 alone, while the others wait; nothing where the whole model has no place in its memory.
  std::optional<run::Latency> alone_ms;
  std::optional<double> difference;  ///< between their outputs: the largest ‖a − b‖ / ‖b‖
  parallel::Prediction prediction;   ///< by the cluster's figures
  ParallelReport parallel;           ///< counts, bytes and seconds are those of one pass, in the mean

  [[nodiscard]] std::optional<double> speed_up() const;
  /// The share of one rank's speed that each keeps.
  [[nodiscard]] std::optional<double> efficiency() const;
};

struct ParallelBenchReport {
  std::string machine;        ///< rank 0's
  parallel::Cluster cluster;  ///< whose figures the predictions are of
  std::vector<ParallelBenchRow> rows;
};

/// table, markdown, csv: a row for each measurement; behind them, but in csv, the collectives of each.
/// json: "attn.bench-parallel/1".
[[nodiscard]] std::string render(Format format, const ParallelBenchReport& report);

}  // namespace attn::report
