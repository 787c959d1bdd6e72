// Writes a benchmark as JSON and as JSON Lines.
#include "attn/report/bench/bench_json.h"

#include <fmt/format.h>

#include "attn/report/json.h"
#include "attn/report/setting.h"
#include "bench/bench_latencies.h"

namespace attn::report {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : json_text(text); }

Json environment_json(const Environment& about) {
  Json json;
  json["attn"] = text_or_null(about.attn);
  json["onednn"] = text_or_null(about.onednn);
  json["system"] = text_or_null(about.system);
  json["cpu"] = text_or_null(about.cpu);
  json["isa"] = about.isa;
  json["kernel_isa"] = text_or_null(about.kernel_isa);
  json["cores"] = about.cores;
  json["memory_bytes"] = about.memory_bytes;
  json["governor"] = text_or_null(about.governor);
  json["load"] = about.load ? Json(*about.load) : Json(nullptr);
  json["gpu"] = text_or_null(about.gpu);
  json["driver"] = text_or_null(about.driver);
  return json;
}

Json peaks_json(const std::vector<run::Peaks>& peaks) {
  Json list = Json::array();
  for (const run::Peaks& peak : peaks) {
    list.push_back({{"dtype", name_of(peak.dtype)},
                    {"gflops_per_second", peak.flops_per_second * 1e-9},
                    {"memory_bytes_per_second", peak.memory_bytes_per_second},
                    {"shared_cache_bytes_per_second", peak.shared_bytes_per_second},
                    {"shared_cache_bytes", peak.shared_bytes},
                    {"cache_bytes_per_second", peak.cache_bytes_per_second},
                    {"cache_bytes", peak.cache_bytes}});
  }
  return list;
}

Json profile_json(const std::vector<ProfileRow>& rows, bool counted) {
  Json list = Json::array();
  for (const ProfileRow& row : rows) {
    Json json{{"layer", json_text(row.layer)},
              {"operation", json_text(row.operation)},
              {"implementation", json_text(row.implementation)},
              {"ms", row.ms},
              {"gflop", row.gflop},
              {"megabytes", row.megabytes},
              {"bound_ms", row.bound_ms},
              {"bound", row.by_memory ? "memory" : "compute"}};
    if (counted) json["count"] = row.count;
    list.push_back(std::move(json));
  }
  return list;
}

Json noise_json(const run::Noise& noise) {
  return {{"spread", noise.spread},
          {"outliers", noise.outliers},
          {"slowest", noise.slowest},
          {"drift", noise.drift},
          {"other_cores", noise.other_cores ? Json(*noise.other_cores) : Json(nullptr)}};
}

Json row_json(const BenchRow& row) {
  Json json = setting_json(row.setting);
  json["iterations"] = row.iterations;
  for (const auto& [name, member] : kLatencies) json["ms"][std::string(name)] = row.ms.*member;
  json["tokens_per_second"] = row.tokens_per_second ? Json(*row.tokens_per_second) : Json(nullptr);
  json["gflop"] = row.gflop;
  json["gflops_per_second"] = row.gflops_per_second;
  json["peak_bytes"] = row.peak_bytes;
  json["noise"] = noise_json(row.noise);
  if (row.verification) {
    json["verified"] = {{"against", row.verification->against},
                        {"error", row.verification->error},
                        {"tolerance", row.verification->tolerance},
                        {"pass", row.verification->pass}};
  }
  if (row.partial) json["partial"] = true;
  if (row.peak_share) json["peak_share"] = *row.peak_share;
  if (row.error) json["relative_error"] = *row.error;
  if (row.decoding) {
    json["decoding"] = {{"depth", row.decoding->depth},
                        {"tokens", row.decoding->tokens},
                        {"rounds", row.decoding->rounds},
                        {"weight_bytes", row.decoding->weight_bytes},
                        {"cache_bytes", row.decoding->cache_bytes}};
    if (row.decoding->memory_share) json["decoding"]["memory_share"] = *row.decoding->memory_share;
  }
  if (row.gpu) {
    json["gpu"] = {{"cold_ms", row.gpu->cold_ms}, {"end_to_end_ms", row.gpu->end_to_end_ms}};
    json["gpu"]["clock_mhz"] = row.gpu->clock_mhz > 0 ? Json(row.gpu->clock_mhz) : Json(nullptr);
    json["gpu"]["watts"] = row.gpu->watts > 0 ? Json(row.gpu->watts) : Json(nullptr);
  }
  if (row.baseline) {
    const double before = row.baseline->median_ms;
    json["baseline"] = {{"median_ms", before},
                        {"ratio", before > 0 ? Json(row.ms.median / before) : Json(nullptr)},
                        {"slower", row.baseline->slower},
                        {"failed", row.baseline->failed}};
  }
  if (!row.profile.empty()) json["profile"] = profile_json(row.profile, false);
  if (!row.samples_ms.empty()) json["samples_ms"] = row.samples_ms;
  return json;
}

Json operations_json(const OperationsReport& report) {
  Json json = setting_json(report.setting);
  if (report.partial) json["partial"] = true;
  json["operations"] = profile_json(report.operations, true);
  return json;
}

Json head_json(const BenchReport& report) {
  Json json;
  json["schema"] = "attn.bench/1";
  json["machine"] = json_text(report.machine);
  json["environment"] = environment_json(report.environment);
  return json;
}

Json tail_json(const BenchReport& report) {
  Json json;
  if (!report.peaks.empty()) json["peaks"] = peaks_json(report.peaks);
  json["partial"] = report.partial;
  return json;
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  Json json = head_json(report);
  json.update(tail_json(report));
  json["rows"] = Json::array();
  for (const BenchRow& row : report.rows) json["rows"].push_back(row_json(row));
  for (const OperationsReport& operations : report.operations)
    json["operations"].push_back(operations_json(operations));
  return json_document(json);
}

std::string bench_json_head(const BenchReport& report) { return json_line(head_json(report)); }
std::string bench_json_line(const BenchRow& row) { return json_line(row_json(row)); }
std::string bench_json_line(const OperationsReport& operations) { return json_line(operations_json(operations)); }
std::string bench_json_tail(const BenchReport& report) { return json_line(tail_json(report)); }

std::string bench_json_lines(const BenchReport& report) {
  std::string out = bench_json_head(report);
  for (const BenchRow& row : report.rows) out += bench_json_line(row);
  for (const OperationsReport& operations : report.operations) out += bench_json_line(operations);
  return out + bench_json_tail(report);
}

}  // namespace attn::report
