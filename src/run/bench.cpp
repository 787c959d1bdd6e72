#include "attn/run/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>

#include "attn/base/stop.h"
#include "attn/run/memory.h"

namespace attn::run {
namespace {

/// Warm-up ends when two stretches of at least kStretchSeconds and three runs have fastest times that differ by at most
/// this ratio.
constexpr double kStable = 0.02;
constexpr double kStretchSeconds = 0.1;
constexpr int kStretchRuns = 3;

void warm_up(const std::function<double()>& body, const BenchOptions& options, const Clock& clock,
             const std::function<bool()>& stop) {
  const double from = clock();
  const auto passed = [&] { return clock() - from; };
  const double longest = std::max(options.warmup_seconds, options.max_warmup_seconds);
  double before = std::numeric_limits<double>::infinity();
  for (std::int64_t runs = 0; !stop();) {
    const bool enough = runs >= options.warmup_runs && passed() >= options.warmup_seconds;
    double fastest = std::numeric_limits<double>::infinity();
    const double stretch = clock();
    for (int i = 0; i < kStretchRuns || clock() - stretch < kStretchSeconds; ++i) {
      if (runs >= options.warmup_runs && passed() >= longest) return;
      if (stop()) return;
      fastest = std::min(fastest, body());
      ++runs;
    }
    if (enough && std::abs(fastest - before) <= kStable * before) return;
    before = fastest;
  }
}

}  // namespace

Clock steady_clock() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

std::vector<double> measure(const std::function<void()>& body, const BenchOptions& options, const Clock& clock) {
  const auto timed = [&] {
    const double start = clock();
    body();
    return clock() - start;
  };
  return measure_timed(timed, options, clock);
}

std::vector<double> measure_timed(const std::function<double()>& body, const BenchOptions& options,
                                  const Clock& clock) {
  const auto stop = [&] { return options.stop && options.stop(); };
  const std::function<double()> pass = [&] {
    throw_if_stopped();  // devices do not check for a stop
    return body();
  };
  std::vector<double> samples;
  try {
    warm_up(pass, options, clock, stop);
    const double from = clock();
    while (static_cast<std::int64_t>(samples.size()) < options.max_runs && !stop() &&
           (static_cast<std::int64_t>(samples.size()) < options.min_runs || clock() - from < options.min_seconds)) {
      samples.push_back(pass());
    }
  } catch (const Stopped&) {  // stopped in the middle of a pass
    if (!stop()) throw;
  }
  return samples;
}

std::vector<double> measure_passes(Session& session, std::span<const Tensor> inputs, const BenchOptions& options) {
  backends::DeviceClock* device = session.device_clock();
  if (device == nullptr) return measure([&] { session.run(inputs); }, options);
  session.run(inputs);
  return measure_timed([&] { return device->pass_seconds(false); }, options);
}

Latency latency_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto percentile = [&](double share) {
    const double at = share * static_cast<double>(seconds.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, seconds.size() - 1);
    return 1e3 * (seconds[below] + (at - static_cast<double>(below)) * (seconds[above] - seconds[below]));
  };
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {percentile(0.0), percentile(0.1),  percentile(0.5),  1e3 * sum / static_cast<double>(seconds.size()),
          percentile(0.9), percentile(0.95), percentile(0.99), percentile(0.999),
          percentile(1.0)};
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::int64_t peak_memory() {
  if (const auto peak = proc_bytes("/proc/self/status", "VmHWM:")) return *peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{1024} * usage.ru_maxrss;
}

}  // namespace attn::run
