// Noise in measured times: spread, outliers, drift, and load from other processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace attn::run {

struct Noise {
  /// The median absolute deviation times 1.4826 (for normal noise the standard deviation), divided by the median.
  double spread = 0;
  /// Runs whose time exceeds the median by more than ten such deviations and by more than 10 %.
  std::int64_t outliers = 0;
  double slowest = 1;  ///< the time of the longest run, divided by the median
  /// The relative increase from the first third of the runs to the last; 0 for fewer than nine runs.
  double drift = 0;
  /// Cores that other processes kept busy meanwhile; empty if the system does not report it.
  std::optional<double> other_cores;
};

/// Returns the noise in times, in the order of measurement. `seconds` must not be empty.
[[nodiscard]] Noise noise_of(std::span<const double> seconds);

/// Measures the CPU time of other processes (Linux: /proc/stat minus this process's own time).
class SystemLoad {
 public:
  SystemLoad();
  /// Returns the mean number of busy cores since construction; empty before two clock ticks have passed.
  [[nodiscard]] std::optional<double> cores() const;

 private:
  double wall_, busy_;
};

}  // namespace attn::run
