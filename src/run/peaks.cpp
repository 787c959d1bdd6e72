#include "attn/run/peaks.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>
#include <thread>

#include "attn/base/parallel.h"
#include "attn/base/stop.h"
#include "attn/run/bench.h"
#include "attn/run/workload.h"

namespace attn::run {
namespace {

/// A graph of known work for measuring a peak.
struct PeakGraph {
  Session session;
  std::vector<Tensor> inputs;
  double work = 0;  ///< FLOPs or bytes of one pass
};

/// Returns the work per second of a pass, with the fastest time of each step: a disturbance then costs one step, not a
/// pass.
double rate_by_steps(PeakGraph& one) {
  constexpr double kSeconds = 0.12;
  constexpr int kLeastPasses = 5;
  const Clock clock = steady_clock();
  std::vector<double> fastest;
  const double from = clock();
  for (int pass = 0; pass < kLeastPasses || clock() - from < kSeconds; ++pass) {
    const std::vector<StepTime> steps = one.session.profile(one.inputs);
    if (fastest.empty()) fastest.resize(steps.size(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < steps.size(); ++i) fastest[i] = std::min(fastest[i], steps[i].seconds);
  }
  return one.work / std::accumulate(fastest.begin(), fastest.end(), 0.0);
}

/// Returns the highest rate of all candidates. A peak must be free of disturbance by other processes, so each candidate
/// runs twice, at different times, and its fastest pass counts.
double best_rate(std::vector<PeakGraph>& tries) {
  constexpr int kTurns = 2;
  BenchOptions brief;
  brief.warmup_seconds = 0.02;
  brief.warmup_runs = 1;
  brief.max_warmup_seconds = 0.06;
  brief.min_seconds = 0.08;
  brief.min_runs = 2;
  double best = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (PeakGraph& one : tries) {
      const std::vector<double> seconds = measure_passes(one.session, one.inputs, brief);
      best = std::max(best, one.work / *std::min_element(seconds.begin(), seconds.end()));
    }
  }
  return best;
}

/// Returns typical sizes. They are a large product, one whose operands stay in the caches, and one with so few rows
/// that a CPU with AMX tiles selects its other kernel.
std::vector<ProductSize> product_sizes(bool on_host) {
  if (!on_host) return {{8192, 8192, 8192}};
  return {{1024, 1024, 1024}, {256, 512, 1024}, {48, 512, 1024}};
}

double product_rate(const backends::Backend& backend, DType dtype, const backends::CompileOptions& options) {
  std::vector<PeakGraph> tries;
  for (const ProductSize& size : product_sizes(backend.device() == "cpu")) {
    graph::Graph graph = product_workload(size, dtype);
    std::vector<Tensor> inputs = workload_inputs(graph, 0);
    std::vector<Tensor> weights = workload_weights(graph, 1);
    const double work =
        2.0 * static_cast<double>(size.rows) * static_cast<double>(size.depth) * static_cast<double>(size.width);
    tries.push_back({Session(backend, std::move(graph), std::move(weights), options), std::move(inputs), work});
  }
  return best_rate(tries);
}

/// Writes to the memory, because pages that were never written all map to one page of zeros. Takes a while for hundreds
/// of megabytes.
void fill_with_ones(std::span<float> numbers, int threads) {
  constexpr std::size_t kPart = 1 << 20;
  for_each_part(static_cast<std::int64_t>((numbers.size() + kPart - 1) / kPart), threads, [&](std::int64_t part) {
    throw_if_stopped();
    const std::size_t first = static_cast<std::size_t>(part) * kPart;
    std::ranges::fill(numbers.subspan(first, std::min(kPart, numbers.size() - first)), 1.0F);
  });
}

/// Traverses arrays of `bytes` in total, by adding two or by summing one. Large arrays are split into parts of `piece`
/// bytes, between which the pass can be stopped.
PeakGraph traversal(std::int64_t bytes, std::int64_t piece, bool adds, const backends::Backend& backend,
                    const backends::CompileOptions& options) {
  constexpr std::int64_t kFloat = 4, kLeast = 1024;
  const auto pieces = static_cast<int>(std::max<std::int64_t>(1, bytes / piece));
  const std::int64_t arrays = adds ? 3 : 1;
  const std::int64_t elements = std::max(bytes / pieces / arrays / kFloat, kLeast) / kLeast * kLeast;
  graph::Graph graph = adds ? addition_workload(elements, pieces) : sum_workload(elements, pieces);
  std::vector<Tensor> inputs;
  for (const graph::ValueId id : graph.inputs) {
    inputs.emplace_back(DType::float32, graph.value(id).shape);
    fill_with_ones(inputs.back().as<float>(), options.threads);
  }
  const double work = static_cast<double>(kFloat * arrays * elements) * pieces;
  return {Session(backend, std::move(graph), {}, options), std::move(inputs), work};
}

/// Returns the bandwidth for arrays of `bytes` in total, in bytes per second.
double bandwidth(std::int64_t bytes, const backends::Backend& backend, const backends::CompileOptions& options) {
  constexpr std::int64_t kPiece = 48 << 20;
  double best = 0;
  for (const bool adds : {true, false}) {  // one after the other: both together would need twice the memory
    std::vector<PeakGraph> tries;
    tries.push_back(traversal(bytes, kPiece, adds, backend, options));
    best = std::max(best, best_rate(tries));
  }
  return best;
}

/// Returns the size of the last-level cache. The system's own list has priority: the C library multiplies by cores that
/// a virtual machine does not have.
std::int64_t last_cache_bytes() {
  const std::int64_t told = std::max<std::int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::int64_t kilobytes = 0;
  if (!(file >> kilobytes) || kilobytes <= 0) return told;
  return told > 0 ? std::min(told, kilobytes << 10) : kilobytes << 10;
}

std::int64_t private_cache_bytes(int threads) {
  const std::int64_t cores = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  return cores * std::max<std::int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
}

/// Returns a number of bytes that exceeds every cache, if `last`, the size of the last-level cache, is known.
std::int64_t beyond(std::int64_t last) {
  return std::min<std::int64_t>(3 * std::max<std::int64_t>(last, 64 << 20), 768 << 20);
}

/// Returns a number of bytes that fits into the last-level cache but not into the private caches; 0 if there is none.
std::int64_t last_level_bytes(std::int64_t last, std::int64_t own) {
  return last > 4 * own ? std::min(std::max<std::int64_t>(3 * own, 8 << 20), last / 2) : 0;
}

/// Measures arrays that fit into the private caches, and arrays that fit into the last-level cache only. A nearer cache
/// is never reported as slower, whatever was measured.
void measure_caches(Peaks& peaks, std::int64_t last, const backends::Backend& backend,
                    const backends::CompileOptions& options) {
  double farther = peaks.memory_bytes_per_second;
  if (const std::int64_t held = last_level_bytes(last, peaks.cache_bytes); held > 0) {
    peaks.shared_bytes = last;
    peaks.shared_bytes_per_second = farther = std::max(farther, bandwidth(held, backend, options));
  }
  if (peaks.cache_bytes == 0) return;
  peaks.cache_bytes_per_second = farther;
  for (const std::int64_t part : {2, 8})
    peaks.cache_bytes_per_second =
        std::max(peaks.cache_bytes_per_second, bandwidth(peaks.cache_bytes / part, backend, options));
}

}  // namespace

Peaks measure_peaks(const backends::Backend& backend, DType dtype, const backends::CompileOptions& options,
                    const Peaks* known) {
  Peaks peaks;
  if (known != nullptr) peaks = *known;
  peaks.dtype = dtype;
  peaks.flops_per_second = product_rate(backend, dtype, options);
  if (known != nullptr) return peaks;
  const std::int64_t last = last_cache_bytes();
  peaks.memory_bytes_per_second = bandwidth(beyond(last), backend, options);
  if (backend.device() != "cpu") return peaks;
  peaks.cache_bytes = private_cache_bytes(options.threads);
  measure_caches(peaks, last, backend, options);
  return peaks;
}

double measure_bandwidth(const backends::Backend& backend, const backends::CompileOptions& options,
                         std::int64_t bytes) {
  const std::int64_t most = beyond(last_cache_bytes());
  if (backend.device() != "cpu") return bandwidth(most, backend, options);
  // Reads from private caches have one speed, except for sizes so small that the start of a pass dominates.
  const std::int64_t least = std::max<std::int64_t>(private_cache_bytes(options.threads) / 2, 1 << 20);
  constexpr std::int64_t kPiece = 8 << 20;
  PeakGraph reading = traversal(std::min(std::max(bytes, least), most), kPiece, /*adds=*/false, backend, options);
  return rate_by_steps(reading);
}

Bound bound_of(const Peaks& peaks, double flops, const Traffic& bytes, std::int64_t resident) {
  const auto rate = [&](std::int64_t size) {
    if (peaks.cache_bytes_per_second > 0 && size <= peaks.cache_bytes) return peaks.cache_bytes_per_second;
    if (peaks.shared_bytes_per_second > 0 && size <= peaks.shared_bytes) return peaks.shared_bytes_per_second;
    return peaks.memory_bytes_per_second;
  };
  const double computing = flops / peaks.flops_per_second;
  const double moving = static_cast<double>(bytes.weights) / rate(resident) +
                        static_cast<double>(bytes.others) / rate(std::min(bytes.others, resident));
  return {std::max(computing, moving), moving > computing};
}

}  // namespace attn::run
