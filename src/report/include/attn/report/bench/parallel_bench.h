// Benchmarks of a model that is split over ranks.
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
  std::int64_t iterations = 0;  ///< number of timed passes
  run::Latency ms;              ///< time of a pass, until the last rank is done
  /// The time of a pass of the whole model on rank 0, while the other ranks wait. Empty if the whole model does not fit
  /// into its memory.
  std::optional<run::Latency> alone_ms;
  std::optional<double> difference;  ///< the largest ‖a − b‖ / ‖b‖ between the outputs of both
  parallel::Prediction prediction;   ///< computed from the figures of the cluster
  ParallelReport parallel;           ///< counts, bytes and seconds are means for one pass

  [[nodiscard]] std::optional<double> speed_up() const;
  /// Returns the parallel efficiency: speed-up divided by the number of ranks.
  [[nodiscard]] std::optional<double> efficiency() const;
};

struct ParallelBenchReport {
  std::string machine;        ///< the machine of rank 0
  parallel::Cluster cluster;  ///< the cluster for which the times are predicted
  std::vector<ParallelBenchRow> rows;
};

/// table, markdown, csv: a row for each measurement; except in csv, followed by the collectives of each. json:
/// "attn.bench-parallel/1".
[[nodiscard]] std::string render(Format format, const ParallelBenchReport& report);

}  // namespace attn::report
