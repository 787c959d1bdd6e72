#include "attn/report/bench/parallel_bench.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/links_view.h"
#include "attn/report/number.h"
#include "attn/report/parallel_view.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "bench/bench_latencies.h"
#include "views/records.h"

namespace attn::report {

std::optional<double> ParallelBenchRow::speed_up() const {
  if (!alone_ms || ms.median <= 0) return std::nullopt;
  return alone_ms->median / ms.median;
}

std::optional<double> ParallelBenchRow::efficiency() const {
  const auto faster = speed_up();
  return faster ? std::optional(*faster / parallel.ranks) : std::nullopt;
}

namespace {

std::string shown(const std::optional<double>& number, const char* form) {
  return number ? fmt::format(fmt::runtime(form), *number) : "-";
}

Table measurements_of(const ParallelBenchReport& report) {
  Table table{{{"dtype"},
               {"batch", Align::right},
               {"length", Align::right},
               {"runs", Align::right},
               {"median ms", Align::right},
               {"one rank", Align::right},
               {"speed-up", Align::right},
               {"efficiency", Align::right},
               {"predicted", Align::right},
               {"difference", Align::right},
               {"p10", Align::right},
               {"p90", Align::right}},
              {}};
  for (const ParallelBenchRow& row : report.rows)
    table.rows.push_back({row.setting.dtype, std::to_string(row.setting.batch),
                          row.setting.seq_len ? std::to_string(*row.setting.seq_len) : "-", with_commas(row.iterations),
                          measured(row.ms.median), row.alone_ms ? measured(row.alone_ms->median) : "-",
                          shown(row.speed_up(), "{:.2f}"), shown(row.efficiency(), "{:.2f}"),
                          measured(row.prediction.seconds() * kMilliseconds), shown(row.difference, "{:.1e}"),
                          measured(row.ms.p10), measured(row.ms.p90)});
  return table;
}

/// Returns the measured and predicted values of the collectives in a pass.
Table collectives_of(const ParallelBenchRow& row) {
  Table table{{{"collective"},
               {"count", Align::right},
               {"bytes", Align::right},
               {"ms", Align::right},
               {"predicted ms", Align::right}},
              {}};
  for (const CollectiveReport& each : row.parallel.collectives)
    table.rows.push_back({each.op, with_commas(each.count), byte_size(each.bytes),
                          each.seconds ? measured(*each.seconds * kMilliseconds) : "-",
                          each.predicted ? measured(*each.predicted * kMilliseconds) : "-"});
  return table;
}

std::string text_of(const ParallelBenchReport& report, std::string (&draw)(const Table&)) {
  if (report.rows.empty()) return "nothing was measured\n";
  const ParallelBenchRow& first = report.rows.front();
  const ParallelReport& shared = first.parallel;
  std::string out =
      fmt::format("{} on {}: {} parallel on {} rank{}{}, {}, {} ({}), {} thread{} each; predicted by {}\n\n",
                  printable(first.setting.model), printable(report.machine), shared.kind, shared.ranks,
                  shared.ranks == 1 ? "" : "s", shared.launcher.empty() ? "" : " of " + shared.launcher, shared.library,
                  first.setting.device, first.setting.backend, first.setting.threads,
                  first.setting.threads == 1 ? "" : "s", printable(report.cluster.name));
  out += draw(measurements_of(report));
  for (const ParallelBenchRow& row : report.rows) {
    if (row.parallel.collectives.empty()) continue;
    const auto uneven = imbalance(row.parallel);
    out += fmt::format("\nA pass of {}, batch {}{}\n\n", row.setting.dtype, row.setting.batch,
                       uneven ? ", imbalance " + percent(*uneven) : "");
    out += draw(collectives_of(row));
  }
  return out;
}

Json row_json(const ParallelBenchRow& row) {
  Json json = setting_json(row.setting);
  json["iterations"] = row.iterations;
  json["ms"] = latency_json(row.ms);
  json["alone_ms"] = row.alone_ms ? latency_json(*row.alone_ms) : Json(nullptr);
  json["speed_up"] = json_or_null(row.speed_up());
  json["efficiency"] = json_or_null(row.efficiency());
  json["difference"] = json_or_null(row.difference);
  json["predicted_ms"] = {{"alone", row.prediction.alone * kMilliseconds},
                          {"compute", row.prediction.compute * kMilliseconds},
                          {"collectives", row.prediction.collective * kMilliseconds}};
  json["parallel"] = parallel_json(row.parallel);
  return json;
}

std::string json_of(const ParallelBenchReport& report) {
  Json json;
  json["schema"] = "attn.bench-parallel/1";
  json["machine"] = json_text(report.machine);
  json["cluster"] = cluster_json(report.cluster);
  json["rows"] = Json::array();
  for (const ParallelBenchRow& row : report.rows) json["rows"].push_back(row_json(row));
  return json_document(json);
}

}  // namespace

std::string render(Format format, const ParallelBenchReport& report) {
  switch (format) {
    case Format::table:
      return text_of(report, plain_table);
    case Format::markdown:
      return text_of(report, markdown_table);
    case Format::csv:
      return csv_table(measurements_of(report));
    case Format::json:
      return json_of(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
