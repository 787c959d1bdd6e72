#include "attn/report/bench/training_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "bench/bench_latencies.h"

namespace attn::report {
namespace {

/// Returns the first row with this batch and length, with which the other rows are compared.
const TrainingBenchRow& first_alike(const TrainingBenchReport& report, const TrainingBenchRow& row) {
  return *std::ranges::find_if(report.rows, [&](const TrainingBenchRow& other) {
    return other.setting.batch == row.setting.batch && other.setting.seq_len == row.setting.seq_len;
  });
}

double ratio_of(const TrainingBenchReport& report, const TrainingBenchRow& row) {
  return row.ms.median / first_alike(report, row).ms.median;
}

Table table_of(const TrainingBenchReport& report) {
  Table table{{{"dtype"},
               {"batch", Align::right},
               {"length", Align::right},
               {"steps", Align::right},
               {"ms/step", Align::right},
               {"p10", Align::right},
               {"p90", Align::right},
               {"samples/s", Align::right},
               {"time", Align::right},
               {"first loss", Align::right},
               {"last loss", Align::right},
               {"peak", Align::right}},
              {}};
  for (const TrainingBenchRow& row : report.rows) {
    const auto loss = [&](bool first) {
      if (row.losses.empty()) return std::string("-");
      return fmt::format("{:.6g}", first ? row.losses.front() : row.losses.back());
    };
    table.rows.push_back({row.setting.dtype, std::to_string(row.setting.batch),
                          row.setting.seq_len ? std::to_string(*row.setting.seq_len) : "-",
                          std::to_string(row.iterations), fmt::format("{:.4g}", row.ms.median),
                          fmt::format("{:.4g}", row.ms.p10), fmt::format("{:.4g}", row.ms.p90),
                          fmt::format("{:.4g}", row.samples_per_second), fmt::format("{:.2f}", ratio_of(report, row)),
                          loss(true), loss(false), byte_size(row.peak_bytes)});
  }
  return table;
}

Table profile_of(const TrainingBenchRow& row) {
  double all = 0.0;
  for (const TrainingShare& share : row.profile) all += share.ms;
  Table table{{{"operation"}, {"count", Align::right}, {"ms", Align::right}, {"share", Align::right}}, {}};
  for (const TrainingShare& share : row.profile)
    table.rows.push_back({share.operation, std::to_string(share.count), fmt::format("{:.4g}", share.ms),
                          fmt::format("{:.1f} %", all > 0.0 ? 100.0 * share.ms / all : 0.0)});
  return table;
}

std::string text_of(const TrainingBenchReport& report, std::string (&draw)(const Table&)) {
  if (report.rows.empty()) return "";
  const Setting& setting = report.rows.front().setting;
  std::string out = fmt::format("{} on {}: training steps on {} ({}), {}, {}, {}{}\n\n", printable(setting.model),
                                printable(report.machine), setting.device, setting.backend,
                                counted(setting.threads, "thread"), printable(report.optimizer), printable(report.loss),
                                report.recomputes ? ", activations computed twice" : "");
  out += draw(table_of(report));
  for (const TrainingBenchRow& row : report.rows)
    if (!row.profile.empty())
      out += fmt::format("\n{}, batch {}\n\n", row.setting.dtype, row.setting.batch) + draw(profile_of(row));
  return out;
}

Json row_json(const TrainingBenchReport& report, const TrainingBenchRow& row) {
  Json json = setting_json(row.setting);
  json["iterations"] = row.iterations;
  json["ms"] = latency_json(row.ms);
  json["ratio"] = ratio_of(report, row);
  json["prepare_ms"] = row.prepare_ms;
  json["samples_per_second"] = row.samples_per_second;
  json["losses"] = row.losses;
  json["told_bytes"] = row.told_bytes;
  json["peak_bytes"] = row.peak_bytes;
  if (row.partial) json["partial"] = true;
  if (!row.profile.empty()) {
    json["profile"] = Json::array();
    for (const TrainingShare& share : row.profile)
      json["profile"].push_back({{"operation", json_text(share.operation)}, {"count", share.count}, {"ms", share.ms}});
  }
  return json;
}

std::string json_of(const TrainingBenchReport& report) {
  Json json;
  json["schema"] = "attn.bench-train/1";
  json["machine"] = json_text(report.machine);
  json["optimizer"] = json_text(report.optimizer);
  json["loss"] = json_text(report.loss);
  json["checkpoint"] = report.recomputes ? "layer" : "none";
  json["rows"] = Json::array();
  for (const TrainingBenchRow& row : report.rows) json["rows"].push_back(row_json(report, row));
  return json_document(json);
}

}  // namespace

std::string render(Format format, const TrainingBenchReport& report) {
  switch (format) {
    case Format::table:
      return text_of(report, plain_table);
    case Format::markdown:
      return text_of(report, markdown_table);
    case Format::csv:
      return csv_table(table_of(report));
    case Format::json:
      return json_of(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
