#include "bench/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "attn/backends/devices.h"
#include "attn/base/text.h"

namespace attn::cli {
namespace {

void check_outputs(const run::Session& session, const Console& console) {
  for (const NamedTensor& output : session.outputs()) {
    for (std::int64_t i = 0; i < output.tensor.size(); ++i) {
      if (std::isfinite(output.tensor.at(i))) continue;
      console.warn(
          fmt::format("the output '{}' contains NaN or Inf; the times may be meaningless", printable(output.name)));
      break;
    }
  }
}

/// Returns 2 for "cuda:2".
int index_of(const std::string& device) {
  int index = 0;
  const auto colon = device.find(':');
  if (colon != std::string::npos) std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
  return index;
}

/// Measures passes on the GPU, and whole passes with the copies from and to the host. Empty if it is stopped before
/// each was measured once.
std::optional<report::GpuTimes> gpu_times(run::Session& session, std::span<const Tensor> inputs,
                                          const run::BenchOptions& options, const std::string& device) {
  const backends::GpuState state = backends::gpu_state(index_of(device));
  run::BenchOptions brief = options;  // shorter, because the main figure was already measured
  brief.min_seconds /= 4;
  brief.warmup_seconds /= 4;
  const auto cold = run::measure_timed([&] { return session.device_clock()->pass_seconds(true); }, brief);
  const auto whole = run::measure([&] { session.run(inputs); }, brief);
  if (cold.empty() || whole.empty()) return std::nullopt;
  return report::GpuTimes{run::latency_of(cold).median, run::latency_of(whole).median, state.clock_mhz, state.watts};
}

}  // namespace

DType dtype_of_row(const report::Setting& setting) {
  const auto dtype = dtype_of(setting.dtype);
  return dtype && (*dtype == DType::float16 || *dtype == DType::bfloat16) ? *dtype : DType::float32;
}

bool time_session(run::Session& session, std::span<const Tensor> inputs, double flops, const run::BenchOptions& options,
                  const Console& console, report::BenchRow& row) {
  const run::SystemLoad others;
  const std::vector<double> seconds = run::measure_passes(session, inputs, options);
  if (seconds.empty()) return false;
  row.noise = run::noise_of(seconds);
  row.noise.other_cores = others.cores();
  row.partial = options.stop && options.stop();
  if (session.device_clock() != nullptr && !row.partial)
    row.gpu = gpu_times(session, inputs, options, row.setting.device);
  check_outputs(session, console);
  row.iterations = static_cast<std::int64_t>(seconds.size());
  row.ms = run::latency_of(seconds);
  for (const double s : seconds) row.samples_ms.push_back(1e3 * s);
  row.peak_bytes = session.device_clock() != nullptr ? session.executable().memory_bytes() : run::peak_memory();
  row.gflop = flops * 1e-9;
  row.gflops_per_second = row.ms.median > 0.0 ? row.gflop / (row.ms.median * 1e-3) : 0.0;
  if (row.setting.seq_len)
    row.tokens_per_second = static_cast<double>(row.setting.batch * *row.setting.seq_len) / (row.ms.median * 1e-3);
  return true;
}

std::vector<report::ProfileRow> profile_session(run::Session& session, std::span<const Tensor> inputs,
                                                const PeaksFor& peaks_of) {
  constexpr int kPasses = 5;
  std::vector<std::vector<run::StepTime>> passes;
  for (int i = 0; i < kPasses; ++i) passes.push_back(session.profile(inputs));
  std::vector<report::ProfileRow> rows;
  for (std::size_t step = 0; step < passes.front().size(); ++step) {
    std::vector<double> seconds;
    for (const auto& pass : passes) seconds.push_back(pass[step].seconds);
    std::nth_element(seconds.begin(), seconds.begin() + kPasses / 2, seconds.end());
    const run::StepTime& time = passes.front()[step];
    const auto flops = static_cast<double>(time.flops), bytes = static_cast<double>(time.bytes.total());
    const run::Bound bound =
        run::bound_of(peaks_of(time.of_bytes), flops, time.bytes, session.executable().memory_bytes());
    rows.push_back({time.layer, time.operation, time.kernel, seconds[kPasses / 2] * 1e3, flops * 1e-9, bytes * 1e-6,
                    bound.seconds * 1e3, bound.by_memory});
  }
  return rows;
}

}  // namespace attn::cli
