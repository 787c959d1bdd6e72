#include "attn/run/peaks.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <thread>

#include "attn/base/stop.h"
#include "attn/run/inputs.h"
#include "attn/run/workload.h"

namespace attn::run {
namespace {

/// The fastest pass of `graph`, in seconds: a peak is what no neighbour disturbed.
double fastest_pass(graph::Graph graph, std::vector<Tensor> weights, std::span<const Tensor> inputs,
                    const backends::Backend& backend, const backends::CompileOptions& options) {
  BenchOptions brief;
  brief.warmup_seconds = 0.05;
  brief.max_warmup_seconds = 0.3;
  brief.min_seconds = 0.4;
  brief.min_runs = 5;
  Session session(backend, std::move(graph), std::move(weights), options);
  const std::vector<double> seconds = measure_passes(session, inputs, brief);
  return *std::min_element(seconds.begin(), seconds.end());
}

/// Memory that nobody wrote is one page of zeros. Hundreds of megabytes take a while.
void fill_with_ones(std::span<float> numbers) {
  constexpr std::size_t kBetweenLooks = 1 << 20;
  for (; !numbers.empty(); numbers = numbers.subspan(std::min(kBetweenLooks, numbers.size()))) {
    throw_if_stopped();
    std::ranges::fill(numbers.first(std::min(kBetweenLooks, numbers.size())), 1.0F);
  }
}

/// The bytes per second of z = x + y for arrays of `bytes` in all. Large arrays are added in pieces, between which the
/// pass can be stopped.
double bandwidth(std::int64_t bytes, const backends::Backend& backend, const backends::CompileOptions& options) {
  constexpr std::int64_t kPiece = 48 << 20;
  const auto pieces = static_cast<int>(std::max<std::int64_t>(1, bytes / kPiece));
  const std::int64_t elements = std::max<std::int64_t>(bytes / pieces / 3 / 4, 1024);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2 * pieces; ++i) {
    inputs.emplace_back(DType::float32, Shape{elements});
    fill_with_ones(inputs.back().as<float>());
  }
  return 12.0 * static_cast<double>(elements) * pieces /
         fastest_pass(addition_workload(elements, pieces), {}, inputs, backend, options);
}

std::int64_t private_cache_bytes(int threads) {
  const std::int64_t cores = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  return cores * std::max<std::int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
}

}  // namespace

Peaks measure_peaks(const backends::Backend& backend, DType dtype, const backends::CompileOptions& options) {
  const bool on_host = backend.device() == "cpu";
  const std::int64_t n = on_host ? 1024 : 8192;
  Peaks peaks;
  peaks.dtype = dtype;
  const double operations = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  graph::Graph product = product_workload(n, dtype);
  const std::vector<Tensor> inputs = workload_inputs(product, 0);
  peaks.flops_per_second = operations / fastest_pass(std::move(product), inputs, inputs, backend, options);
  // Beyond the last cache too, as far as its size is known.
  const std::int64_t last = std::max<std::int64_t>(64 << 20, sysconf(_SC_LEVEL3_CACHE_SIZE));
  peaks.memory_bytes_per_second = bandwidth(std::min<std::int64_t>(3 * last, 768 << 20), backend, options);
  if (on_host) {
    peaks.cache_bytes = private_cache_bytes(options.threads);
    if (peaks.cache_bytes > 0) peaks.cache_bytes_per_second = bandwidth(peaks.cache_bytes / 2, backend, options);
  }
  return peaks;
}

Bound bound_of(const Peaks& peaks, double flops, double bytes, std::int64_t resident) {
  const bool cached = peaks.cache_bytes_per_second > 0 && resident <= peaks.cache_bytes;
  const double rate = cached ? peaks.cache_bytes_per_second : peaks.memory_bytes_per_second;
  const double computing = flops / peaks.flops_per_second, moving = bytes / rate;
  return {std::max(computing, moving), moving > computing};
}

}  // namespace attn::run
