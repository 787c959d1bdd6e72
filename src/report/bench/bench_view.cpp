#include "attn/report/bench/bench_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "attn/base/text.h"
#include "attn/report/bench/bench_json.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "bench/bench_latencies.h"
#include "bench_sections.h"

namespace attn::report {
namespace {

/// A column of the text table.
struct View {
  std::string_view header;
  Align align;
  std::function<std::string(const BenchRow&)> text;
  /// A part of the setting, which is printed once above the table if it is the same in all rows.
  bool setting = false;
};

std::string baseline_text(const BenchRow& row) {
  if (!row.baseline) return "-";
  if (!(row.baseline->median_ms > 0 && row.ms.median > 0)) return "-";
  const double ratio = row.ms.median / row.baseline->median_ms;
  const std::string text = fmt::format("{:.2f}×", std::max(ratio, 1 / ratio));
  if (text == "1.00×" && !row.baseline->slower) return text;
  return text + (ratio > 1 ? " slower" : " faster");
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
      left("test", [](const BenchRow& row) { return row.setting.test.empty() ? "-" : row.setting.test; }),
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
      value("noise", [](const BenchRow& row) { return row.decoding ? "-" : noise_text(row); }),
      value("spread", [](const BenchRow& row) { return row.decoding ? "±" + percent(row.noise.spread) : "-"; }),
      value("GFLOP/s", [](const BenchRow& row) { return measured(row.gflops_per_second); }),
      value("of peak", [](const BenchRow& row) { return row.peak_share ? percent(*row.peak_share) : "-"; }),
      value("of memory",
            [](const BenchRow& row) {
              return row.decoding && row.decoding->memory_share ? percent(*row.decoding->memory_share) : "-";
            }),
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
  std::string shared;  ///< the settings that all rows have: "device cpu, backend onednn, …"
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

bool is_empty(const BenchReport& report) {
  return report.rows.empty() && report.operations.empty() && report.peaks.empty();
}

/// Returns the machine, and other conditions that differ between measurements.
std::string environment_text(const BenchReport& report) {
  const Environment& about = report.environment;
  std::string text = report.machine;
  if (!about.gpu.empty()) text += ", " + about.gpu;
  if (!about.attn.empty()) text += ", attn " + about.attn;
  if (!about.onednn.empty()) text += ", oneDNN " + about.onednn;
  if (!about.kernel_isa.empty()) text += ", kernels up to " + about.kernel_isa;
  if (!about.driver.empty()) text += ", " + about.driver;
  if (!about.system.empty()) text += ", " + about.system;
  return text;
}

std::string bench_text(const BenchReport& report) {
  if (is_empty(report)) return "nothing was measured\n";
  std::string out = printable(report.machine) + '\n';
  if (!report.rows.empty()) {
    const Parts parts = parts_of(report);
    if (!parts.shared.empty()) out += parts.shared + '\n';
    out += '\n' + plain_table(parts.table);
  }
  for (const Section& section : sections_of(report)) out += '\n' + section.title + '\n' + plain_table(section.table);
  return out + (report.partial ? "\ninterrupted: the results are incomplete\n" : "");
}

std::string bench_markdown(const BenchReport& report) {
  if (is_empty(report)) return "nothing was measured\n";
  std::string out = markdown_text(environment_text(report)) + "\n\n";
  if (!report.rows.empty()) {
    const Parts parts = parts_of(report);
    if (!parts.shared.empty()) out += markdown_text(parts.shared) + "\n\n";
    out += markdown_table(parts.table);
  }
  for (const Section& section : sections_of(report))
    out += '\n' + markdown_text(section.title) + "\n\n" + markdown_table(section.table);
  return out + (report.partial ? "\ninterrupted: the results are incomplete\n" : "");
}

/// Returns one record per operation of --ops.
std::string operations_csv(const std::vector<OperationsReport>& reports) {
  Table table;
  for (const char* name :
       {"model", "device", "backend", "dtype", "matmul_precision", "batch", "seq_len", "threads", "layer", "operation",
        "implementation", "times", "ms", "gflop", "megabytes", "bound_ms", "bound_by"})
    table.columns.push_back({name});
  for (const OperationsReport& one : reports) {
    const Setting& setting = one.setting;
    for (const ProfileRow& row : one.operations)
      table.rows.push_back({setting.model, setting.device, setting.backend, setting.dtype, setting.matmul_precision,
                            fmt::format("{}", setting.batch),
                            setting.seq_len ? fmt::format("{}", *setting.seq_len) : "",
                            fmt::format("{}", setting.threads), row.layer, row.operation, row.implementation,
                            fmt::format("{}", row.count), fmt::format("{}", row.ms), fmt::format("{}", row.gflop),
                            fmt::format("{}", row.megabytes), fmt::format("{}", row.bound_ms),
                            row.bound_ms > 0 ? row.by_memory ? "memory" : "compute" : ""});
  }
  return csv_table(table);
}

void add_decoding(const DecodingRow& decoding, const BenchRow& row, std::vector<std::string>& cells) {
  cells.push_back(row.setting.test);
  for (const std::int64_t number : {decoding.depth, decoding.tokens, decoding.rounds})
    cells.push_back(fmt::format("{}", number));
  cells.push_back(fmt::format("{}", row.noise.spread));
  for (const std::int64_t number : {decoding.weight_bytes, decoding.cache_bytes})
    cells.push_back(fmt::format("{}", number));
  cells.push_back(decoding.memory_share ? fmt::format("{}", *decoding.memory_share) : "");
}

std::string bench_csv(const BenchReport& report) {
  if (!report.operations.empty()) return operations_csv(report.operations);
  Table table;
  for (const std::string_view name :
       {"model", "device", "backend", "dtype", "matmul_precision", "batch", "seq_len", "threads", "iterations"}) {
    table.columns.push_back({std::string(name)});
  }
  for (const auto& [name, member] : kLatencies) table.columns.push_back({fmt::format("ms_{}", name)});
  for (const std::string_view name : {"tokens_per_second", "gflop", "gflops_per_second", "peak_bytes"}) {
    table.columns.push_back({std::string(name)});
  }
  const bool decodes = std::ranges::any_of(report.rows, [](const BenchRow& row) { return row.decoding.has_value(); });
  for (const std::string_view name :
       {"test", "depth", "tokens", "rounds", "spread", "weight_bytes", "cache_bytes", "memory_share"})
    if (decodes) table.columns.push_back({std::string(name)});
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
    if (row.decoding) add_decoding(*row.decoding, row, cells);
    table.rows.push_back(std::move(cells));
  }
  return csv_table(table);
}

}  // namespace

std::string render(Format format, const BenchReport& report) {
  switch (format) {
    case Format::table:
      return bench_text(report);
    case Format::json:
      return bench_json(report);
    case Format::jsonl:
      return bench_json_lines(report);
    case Format::markdown:
      return bench_markdown(report);
    case Format::csv:
      return bench_csv(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
