#include "attn/report/bench_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"
#include "setting.h"

namespace attn::report {
namespace {

/// A column of the table for people.
struct View {
  std::string_view header;
  Align align;
  std::function<std::string(const BenchRow&)> text;
  /// A part of the setting, which is said once above the table where all rows share it.
  bool setting = false;
};

std::string baseline_text(const BenchRow& row) {
  if (!row.baseline) return "-";
  const double ratio = row.baseline->median_ms > 0 ? row.ms.median / row.baseline->median_ms : 0;
  return fmt::format("{:.2f}x{}", ratio, row.baseline->slower ? " slower" : "");
}

std::vector<View> views() {
  const auto left = [](std::string_view header, auto text) { return View{header, Align::left, text, true}; };
  const auto count = [](std::string_view header, auto text) { return View{header, Align::right, text, true}; };
  const auto value = [](std::string_view header, auto text) { return View{header, Align::right, text, false}; };
  return {
      left("model", [](const BenchRow& row) { return row.setting.model; }),
      left("device", [](const BenchRow& row) { return row.setting.device; }),
      left("backend", [](const BenchRow& row) { return row.setting.backend; }),
      left("dtype", [](const BenchRow& row) { return row.setting.dtype; }),
      left("matmul precision", [](const BenchRow& row) { return row.setting.matmul_precision; }),
      count("batch", [](const BenchRow& row) { return fmt::format("{}", row.setting.batch); }),
      count("length",
            [](const BenchRow& row) { return row.setting.seq_len ? fmt::format("{}", *row.setting.seq_len) : "-"; }),
      left("padding",
           [](const BenchRow& row) {
             const std::string text = padding_text(row.setting);
             return text.empty() ? "-" : text;
           }),
      count("threads", [](const BenchRow& row) { return fmt::format("{}", row.setting.threads); }),
      value("runs", [](const BenchRow& row) { return with_commas(row.iterations); }),
      value("median ms", [](const BenchRow& row) { return measured(row.ms.median); }),
      value("cold", [](const BenchRow& row) { return row.gpu ? measured(row.gpu->cold_ms) : "-"; }),
      value("with copies", [](const BenchRow& row) { return row.gpu ? measured(row.gpu->end_to_end_ms) : "-"; }),
      value("p10", [](const BenchRow& row) { return measured(row.ms.p10); }),
      value("p90", [](const BenchRow& row) { return measured(row.ms.p90); }),
      value("p99", [](const BenchRow& row) { return measured(row.ms.p99); }),
      value("tokens/s",
            [](const BenchRow& row) { return row.tokens_per_second ? measured(*row.tokens_per_second) : "-"; }),
      value("GFLOP/s", [](const BenchRow& row) { return measured(row.gflops_per_second); }),
      value("of peak", [](const BenchRow& row) { return row.peak_share ? percent(*row.peak_share) : "-"; }),
      value("error", [](const BenchRow& row) { return row.error ? fmt::format("{:.1e}", *row.error) : "-"; }),
      value("memory", [](const BenchRow& row) { return byte_size(row.peak_bytes); }),
      value("MHz",
            [](const BenchRow& row) {
              return row.gpu && row.gpu->clock_mhz > 0 ? fmt::format("{}", row.gpu->clock_mhz) : "-";
            }),
      value("W", [](const BenchRow& row) { return row.gpu && row.gpu->watts > 0 ? measured(row.gpu->watts) : "-"; }),
      value("to baseline", baseline_text),
  };
}

bool has_value(const View& view, const std::vector<BenchRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const BenchRow& row) { return view.text(row) != "-"; });
}

bool is_shared(const View& view, const std::vector<BenchRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const BenchRow& row) { return view.text(row) == view.text(rows.front()); });
}

struct Parts {
  std::string shared;  ///< "device cpu, backend onednn, …"
  Table table;
};

Parts parts_of(const BenchReport& report) {
  std::vector<std::string> shared;
  std::vector<View> shown;
  for (const View& view : views()) {
    if (!has_value(view, report.rows)) continue;
    if (view.setting && is_shared(view, report.rows)) {
      shared.push_back(fmt::format("{} {}", view.header, printable(view.text(report.rows.front()))));
    } else {
      shown.push_back(view);
    }
  }
  Parts parts{join(shared, ", "), {}};
  for (const View& view : shown) parts.table.columns.push_back({std::string(view.header), view.align});
  for (const BenchRow& row : report.rows) {
    parts.table.rows.emplace_back();
    for (const View& view : shown) parts.table.rows.back().push_back(view.text(row));
  }
  return parts;
}

Table profile_table(const BenchRow& row) {
  double total = 0;
  for (const ProfileRow& layer : row.profile) total += layer.ms;
  Table table{{{"layer"},
               {"operation"},
               {"implementation"},
               {"ms", Align::right},
               {"share", Align::right},
               {"GFLOP/s", Align::right}},
              {}};
  for (const ProfileRow& layer : row.profile) {
    const bool timed = layer.ms > 0;
    table.rows.push_back({layer.layer, layer.operation, layer.implementation, measured(layer.ms),
                          percent(total > 0 ? layer.ms / total : 0),
                          timed && layer.gflop > 0 ? measured(layer.gflop / layer.ms * 1000) : "-"});
  }
  return table;
}

constexpr std::array<std::pair<std::string_view, double run::Latency::*>, 7> kLatencies{
    {{"min", &run::Latency::min},
     {"p10", &run::Latency::p10},
     {"median", &run::Latency::median},
     {"mean", &run::Latency::mean},
     {"p90", &run::Latency::p90},
     {"p99", &run::Latency::p99},
     {"max", &run::Latency::max}}};

Json row_json(const BenchRow& row) {
  Json json = setting_json(row.setting);
  json["iterations"] = row.iterations;
  for (const auto& [name, member] : kLatencies) json["ms"][std::string(name)] = row.ms.*member;
  json["tokens_per_second"] = row.tokens_per_second ? Json(*row.tokens_per_second) : Json(nullptr);
  json["gflop"] = row.gflop;
  json["gflops_per_second"] = row.gflops_per_second;
  json["peak_bytes"] = row.peak_bytes;
  if (row.peak_share) json["peak_share"] = *row.peak_share;
  if (row.error) json["relative_error"] = *row.error;
  if (row.gpu) {
    json["gpu"] = {{"cold_ms", row.gpu->cold_ms}, {"end_to_end_ms", row.gpu->end_to_end_ms}};
    json["gpu"]["clock_mhz"] = row.gpu->clock_mhz > 0 ? Json(row.gpu->clock_mhz) : Json(nullptr);
    json["gpu"]["watts"] = row.gpu->watts > 0 ? Json(row.gpu->watts) : Json(nullptr);
  }
  if (row.baseline) json["baseline"] = {{"median_ms", row.baseline->median_ms}, {"slower", row.baseline->slower}};
  for (const ProfileRow& layer : row.profile) {
    json["profile"].push_back({{"layer", json_text(layer.layer)},
                               {"operation", json_text(layer.operation)},
                               {"implementation", json_text(layer.implementation)},
                               {"ms", layer.ms},
                               {"gflop", layer.gflop}});
  }
  return json;
}

}  // namespace

std::string bench_text(const BenchReport& report) {
  if (report.rows.empty()) return "nothing was measured\n";
  const Parts parts = parts_of(report);
  std::string out = printable(report.machine) + '\n';
  if (!parts.shared.empty()) out += parts.shared + '\n';
  out += '\n' + plain_table(parts.table);
  for (const BenchRow& row : report.rows) {
    if (row.profile.empty()) continue;
    out += fmt::format("\n{}: {}\n", printable(row.setting.model), setting_text(row.setting));
    out += plain_table(profile_table(row));
  }
  return out;
}

std::string bench_markdown(const BenchReport& report) {
  if (report.rows.empty()) return "nothing was measured\n";
  const Parts parts = parts_of(report);
  std::string out = markdown_text(report.machine) + "\n\n";
  if (!parts.shared.empty()) out += markdown_text(parts.shared) + "\n\n";
  out += markdown_table(parts.table);
  for (const BenchRow& row : report.rows) {
    if (row.profile.empty()) continue;
    out += fmt::format("\n{}: {}\n\n", markdown_text(row.setting.model), markdown_text(setting_text(row.setting)));
    out += markdown_table(profile_table(row));
  }
  return out;
}

std::string bench_csv(const BenchReport& report) {
  Table table;
  for (const std::string_view name :
       {"model", "device", "backend", "dtype", "matmul_precision", "batch", "seq_len", "threads", "iterations"}) {
    table.columns.push_back({std::string(name)});
  }
  for (const auto& [name, member] : kLatencies) table.columns.push_back({fmt::format("ms_{}", name)});
  for (const std::string_view name : {"tokens_per_second", "gflop", "gflops_per_second", "peak_bytes"}) {
    table.columns.push_back({std::string(name)});
  }
  for (const BenchRow& row : report.rows) {
    const Setting& setting = row.setting;
    std::vector<std::string> cells{setting.model, setting.device, setting.backend, setting.dtype,
                                   setting.matmul_precision};
    cells.push_back(fmt::format("{}", setting.batch));
    cells.push_back(setting.seq_len ? fmt::format("{}", *setting.seq_len) : "");
    cells.push_back(fmt::format("{}", setting.threads));
    cells.push_back(fmt::format("{}", row.iterations));
    for (const auto& [name, member] : kLatencies) cells.push_back(fmt::format("{}", row.ms.*member));
    cells.push_back(row.tokens_per_second ? fmt::format("{}", *row.tokens_per_second) : "");
    cells.push_back(fmt::format("{}", row.gflop));
    cells.push_back(fmt::format("{}", row.gflops_per_second));
    cells.push_back(fmt::format("{}", row.peak_bytes));
    table.rows.push_back(std::move(cells));
  }
  return csv_table(table);
}

std::string bench_json(const BenchReport& report) {
  Json json;
  json["schema"] = "attn.bench/1";
  json["machine"] = json_text(report.machine);
  json["rows"] = Json::array();
  for (const BenchRow& row : report.rows) json["rows"].push_back(row_json(row));
  return json_document(json);
}

}  // namespace attn::report
