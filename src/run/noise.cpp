#include "attn/run/noise.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace attn::run {
namespace {

constexpr double kNormal = 1.4826;  // the standard deviation of normal noise over its median absolute deviation

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Returns the CPU time of all processes in seconds; NaN if the system does not report it. It includes the time that
/// another virtual machine has taken from this one.
double all_seconds() {
  std::ifstream stat("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0, steal = 0;
  if (!(stat >> label >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> steal) || label != "cpu")
    return std::nan("");
  return (user + nice + system + irq + soft_irq + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

Noise noise_of(std::span<const double> seconds) {
  Noise out;
  const double median = median_of({seconds.begin(), seconds.end()});
  if (!(median > 0)) return out;
  std::vector<double> distances;
  distances.reserve(seconds.size());
  for (const double s : seconds) distances.push_back(std::abs(s - median));
  const double deviation = kNormal * median_of(std::move(distances));
  out.spread = deviation / median;
  out.slowest = *std::max_element(seconds.begin(), seconds.end()) / median;
  const double limit = median + std::max(10 * deviation, 0.1 * median);
  out.outliers = std::count_if(seconds.begin(), seconds.end(), [&](double s) { return s > limit; });
  if (const std::size_t third = seconds.size() / 3; third >= 3) {
    const double first = median_of({seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(third)});
    const double last = median_of({seconds.end() - static_cast<std::ptrdiff_t>(third), seconds.end()});
    if (first > 0) out.drift = last / first - 1;
  }
  return out;
}

SystemLoad::SystemLoad() : wall_(wall_seconds()), busy_(all_seconds() - own_seconds()) {}

std::optional<double> SystemLoad::cores() const {
  const double wall = wall_seconds() - wall_, busy = all_seconds() - own_seconds() - busy_;
  // The system counts in ticks of 10 ms, so shorter intervals are too inaccurate.
  if (std::isnan(busy) || wall < 0.1) return std::nullopt;
  return std::max(0.0, busy / wall);
}

}  // namespace attn::run
