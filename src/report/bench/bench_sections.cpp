#include "bench_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"

namespace attn::report {
namespace {

std::string bound_text(const ProfileRow& row) {
  if (!(row.bound_ms > 0 && row.ms > 0)) return "-";
  return fmt::format("{} {}", percent(row.bound_ms / row.ms), row.by_memory ? "memory" : "compute");
}

/// `counted` adds a column of counts, for operations that a pass has several times.
Table profile_table(const std::vector<ProfileRow>& rows, bool counted) {
  const auto whole = [](const ProfileRow& row) { return row.ms * static_cast<double>(row.count); };
  double total = 0;
  for (const ProfileRow& row : rows) total += whole(row);
  Table table{{{"layer"}, {"operation"}, {"implementation"}}, {}};
  if (counted) table.columns.push_back({"times", Align::right});
  for (const char* header : {"ms", "share", "GFLOP/s", "GB/s", "of bound"})
    table.columns.push_back({header, Align::right});
  for (const ProfileRow& row : rows) {
    const bool timed = row.ms > 0;
    std::vector<std::string> cells{row.layer, row.operation, row.implementation};
    if (counted) cells.push_back(fmt::format("{}", row.count));
    cells.push_back(measured(row.ms));
    cells.push_back(percent(total > 0 ? whole(row) / total : 0));
    cells.push_back(timed && row.gflop > 0 ? measured(row.gflop / row.ms * 1e3) : "-");
    cells.push_back(timed && row.megabytes > 0 ? measured(row.megabytes / row.ms) : "-");
    cells.push_back(bound_text(row));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table peaks_table(const std::vector<run::Peaks>& peaks) {
  Table table{{{"peak"}, {"dtype"}, {"value", Align::right}, {"unit"}}, {}};
  for (const run::Peaks& peak : peaks)
    table.rows.push_back(
        {"products", std::string(name_of(peak.dtype)), measured(peak.flops_per_second * 1e-9), "GFLOP/s"});
  const run::Peaks& first = peaks.front();
  table.rows.push_back({"memory", "", measured(first.memory_bytes_per_second * 1e-9), "GB/s"});
  const auto add_cache = [&](std::string_view what, std::int64_t bytes, double rate) {
    if (rate > 0)
      table.rows.push_back({fmt::format("{} of {}", what, byte_size(bytes)), "", measured(rate * 1e-9), "GB/s"});
  };
  add_cache("last cache", first.shared_bytes, first.shared_bytes_per_second);
  add_cache("cores' caches", first.cache_bytes, first.cache_bytes_per_second);
  return table;
}

std::string title_of(const Setting& setting) {
  const std::string weights = setting.weights.empty() ? "" : fmt::format(", weights: {}", printable(setting.weights));
  return fmt::format("{}: {}{}", printable(setting.model), setting_text(setting), weights);
}

}  // namespace

std::vector<Section> sections_of(const BenchReport& report) {
  std::vector<Section> out;
  if (!report.peaks.empty()) out.push_back({"the machine's peaks, as measured", peaks_table(report.peaks)});
  for (const BenchRow& row : report.rows)
    if (!row.profile.empty()) out.push_back({title_of(row.setting), profile_table(row.profile, false)});
  for (const OperationsReport& one : report.operations)
    out.push_back({title_of(one.setting) + ", each operation on its own", profile_table(one.operations, true)});
  return out;
}

}  // namespace attn::report
