// Measurement of times: warm-up, repetition, and statistics of the spread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/run/session.h"

namespace attn::run {

struct BenchOptions {
  double warmup_seconds = 0.3;  ///< lower bound, together with `warmup_runs`
  std::int64_t warmup_runs = 3;
  double max_warmup_seconds = 3.0;  ///< upper bound; warm-up ends when two consecutive stretches agree
  double min_seconds = 3.0;         ///< lower bound of the timed runs, together with `min_runs`
  std::int64_t min_runs = 10;
  std::int64_t max_runs = 1'000'000;
  std::function<bool()> stop;  ///< polled between runs: true ends the measurement; may be empty
};

/// A monotonic clock in seconds. A parameter, so that tests can replace it.
using Clock = std::function<double()>;
[[nodiscard]] Clock steady_clock();

/// Returns the time in seconds of each timed run of `body`, in order.
[[nodiscard]] std::vector<double> measure(const std::function<void()>& body, const BenchOptions& options,
                                          const Clock& clock = steady_clock());

/// Returns the time in seconds of each timed run in order. `body` measures and returns it, for example with a device's
/// clock.
[[nodiscard]] std::vector<double> measure_timed(const std::function<double()>& body, const BenchOptions& options,
                                                const Clock& clock = steady_clock());

/// Returns the time in seconds of each timed pass of a session, in order. On a GPU, times come from the device's clock,
/// and inputs are already on the device.
[[nodiscard]] std::vector<double> measure_passes(Session& session, std::span<const Tensor> inputs,
                                                 const BenchOptions& options);

/// Latencies of the timed runs, in milliseconds.
struct Latency {
  double min = 0, p10 = 0, median = 0, mean = 0, p90 = 0, p95 = 0, p99 = 0, p99_9 = 0, max = 0;
};

/// Percentiles interpolate between the nearest samples, like numpy.percentile. `seconds` must not be empty.
[[nodiscard]] Latency latency_of(std::vector<double> seconds);

/// Resets the peak resident memory of this process, where the system supports it (Linux).
void reset_peak_memory();
/// Returns the peak resident memory in bytes since reset_peak_memory(), otherwise since the start.
[[nodiscard]] std::int64_t peak_memory();

}  // namespace attn::run
