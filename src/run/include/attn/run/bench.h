// Measuring: warm up, repeat, and say how the times spread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/run/session.h"

namespace attn::run {

struct BenchOptions {
  double warmup_seconds = 0.3;  ///< at least this long, and at least `warmup_runs`,
  std::int64_t warmup_runs = 3;
  double max_warmup_seconds = 3.0;  ///< and on until two stretches in a row agree, for this long at the most
  double min_seconds = 3.0;         ///< timed for at least this long, and at least `min_runs`
  std::int64_t min_runs = 10;
  std::int64_t max_runs = 1'000'000;
  std::function<bool()> stop;  ///< asked between runs whether to end early; may be empty
};

/// Seconds since some beginning; a parameter, so that tests can stand in for it.
using Clock = std::function<double()>;
[[nodiscard]] Clock steady_clock();

/// The seconds of each timed run of `body`, in their order.
[[nodiscard]] std::vector<double> measure(const std::function<void()>& body, const BenchOptions& options,
                                          const Clock& clock = steady_clock());

/// The same for a body that gives its own seconds, as a device's clock does.
[[nodiscard]] std::vector<double> measure_timed(const std::function<double()>& body, const BenchOptions& options,
                                                const Clock& clock = steady_clock());

/// The same for passes of a session: on a GPU by the device's own clock, over inputs that are there.
[[nodiscard]] std::vector<double> measure_passes(Session& session, std::span<const Tensor> inputs,
                                                 const BenchOptions& options);

/// Latencies of the timed runs, in milliseconds.
struct Latency {
  double min = 0, p10 = 0, median = 0, mean = 0, p90 = 0, p95 = 0, p99 = 0, p99_9 = 0, max = 0;
};

/// Percentiles interpolate between the nearest samples, as numpy.percentile. There must be a sample.
[[nodiscard]] Latency latency_of(std::vector<double> seconds);

/// Starts the measurement of this process's peak resident memory anew, where the system can (Linux).
void reset_peak_memory();
/// Peak resident bytes since then, else since the start.
[[nodiscard]] std::int64_t peak_memory();

}  // namespace attn::run
