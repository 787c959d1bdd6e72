// Describes the noise in measured times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/report/bench/bench_view.h"
#include "attn/report/number.h"

namespace attn::report {
namespace {

// The limits of noise. An idle machine stays below them: 5 % of spread or drift, one slow run in a hundred, a quarter
// of a core.
bool varies(const BenchRow& row) { return row.noise.spread > 0.05; }
bool has_outliers(const BenchRow& row) { return row.noise.outliers * 100 > row.iterations; }
bool drifts(const BenchRow& row) { return std::abs(row.noise.drift) > 0.05; }
bool is_disturbed(const BenchRow& row) { return row.noise.other_cores && *row.noise.other_cores > 0.25; }

}  // namespace

std::string noise_text(const BenchRow& row) {
  if (varies(row)) return "±" + percent(row.noise.spread);
  if (has_outliers(row)) return fmt::format("{} slow", row.noise.outliers);
  if (drifts(row)) return fmt::format("{}{}", row.noise.drift > 0 ? "+" : "", percent(row.noise.drift));
  if (is_disturbed(row)) return "busy";
  return "-";
}

std::string noise_summary(const std::vector<BenchRow>& rows) {
  std::int64_t noisy = 0;
  double spread = 0, cores = 0;
  for (const BenchRow& row : rows) {
    if (noise_text(row) == "-") continue;
    ++noisy;
    spread = std::max(spread, row.noise.spread);
    cores = std::max(cores, row.noise.other_cores.value_or(0));
  }
  if (noisy == 0) return "";
  std::string out = fmt::format("{} of {} rows were measured under load or on an unsteady machine (column noise)",
                                noisy, rows.size());
  if (spread > 0) out += fmt::format("; times vary by up to ±{}", percent(spread));
  if (cores > 0) out += fmt::format("; other processes kept up to {:.1f} cores busy", cores);
  return out;
}

std::vector<std::string> noise_warnings(const BenchRow& row) {
  std::vector<std::string> out;
  const run::Noise& noise = row.noise;
  if (varies(row))
    out.push_back(fmt::format("times vary by ±{}; smaller differences are noise", percent(noise.spread)));
  if (has_outliers(row))
    out.push_back(fmt::format(
        "{} of {} passes took far longer than the others, up to {:.1f} times the median; another process ran meanwhile",
        noise.outliers, row.iterations, noise.slowest));
  if (noise.drift > 0.05)
    out.push_back(fmt::format("the last passes took {} longer than the first; the clock rate may have dropped",
                              percent(noise.drift)));
  if (noise.drift < -0.05)
    out.push_back(
        fmt::format("the last passes took {} less time than the first; increase the warm-up", percent(-noise.drift)));
  if (is_disturbed(row))
    out.push_back(fmt::format("other processes kept {:.1f} cores busy meanwhile", *noise.other_cores));
  return out;
}

}  // namespace attn::report
