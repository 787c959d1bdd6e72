// What else was in the times: spread, outliers, drift, and other processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace attn::run {

struct Noise {
  /// The median distance from the median, times 1.4826 (for normal noise the standard deviation), over the median.
  double spread = 0;
  /// Runs that took longer than the median by over ten such distances, and by over a tenth.
  std::int64_t outliers = 0;
  double slowest = 1;  ///< the longest run over the median
  /// How much longer the last third of the runs took than the first, over the first; 0 for fewer than nine runs.
  double drift = 0;
  /// Cores that other processes kept busy meanwhile; nothing where the system does not tell.
  std::optional<double> other_cores;
};

/// The noise in times, which are in the order in which they were taken; there must be one.
[[nodiscard]] Noise noise_of(std::span<const double> seconds);

/// Counts what other processes take from the CPU (Linux's /proc/stat, less this process's own time).
class OtherLoad {
 public:
  OtherLoad();
  /// Cores, in the mean since it was made; nothing before two ticks of the system's clock.
  [[nodiscard]] std::optional<double> cores() const;

 private:
  double wall_, busy_;
};

}  // namespace attn::run
