#include "attn/report/devices_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

/// Returns the backend and the instruction set: "onednn, avx512".
std::string runner_of(const DeviceRow& row) {
  if (row.backend.empty()) return "-";
  return row.kernel_isa.empty() ? row.backend : row.backend + ", " + row.kernel_isa;
}

std::string devices_text(const DevicesReport& report) {
  Table table{{{"Device"}, {"Name"}, {"Cores", Align::right}, {"Memory", Align::right}, {"Runs by"}, {"Has"}}, {}};
  for (const DeviceRow& row : report.devices) {
    table.rows.push_back({row.device, row.name, row.cores > 0 ? fmt::format("{}", row.cores) : "-",
                          byte_size(row.memory_bytes), runner_of(row), join(row.details, " ")});
  }
  std::string text = plain_table(table);
  if (!report.driver.empty()) text += fmt::format("\nNVIDIA driver: CUDA {}\n", printable(report.driver));
  for (const DeviceRow& row : report.devices) {
    if (!row.why_not.empty()) text += fmt::format("\n{}: {}\n", printable(row.device), printable(row.why_not));
  }
  if (!report.cuda_missing.empty()) text += fmt::format("\ncuda: {}\n", printable(report.cuda_missing));
  return text;
}

std::string devices_json(const DevicesReport& report) {
  Json json;
  json["schema"] = "attn.devices/1";
  json["devices"] = Json::array();
  for (const DeviceRow& row : report.devices) {
    Json device;
    device["device"] = json_text(row.device);
    device["name"] = json_text(row.name);
    device["details"] = Json::array();
    for (const std::string& detail : row.details) device["details"].push_back(json_text(detail));
    device["cores"] = row.cores > 0 ? Json(row.cores) : Json(nullptr);
    device["memory_bytes"] = row.memory_bytes;
    device["backend"] = row.backend.empty() ? Json(nullptr) : json_text(row.backend);
    device["kernel_isa"] = row.kernel_isa.empty() ? Json(nullptr) : json_text(row.kernel_isa);
    device["why_not"] = row.why_not.empty() ? Json(nullptr) : json_text(row.why_not);
    json["devices"].push_back(std::move(device));
  }
  json["driver"] = report.driver.empty() ? Json(nullptr) : json_text(report.driver);
  json["cuda_missing"] = report.cuda_missing.empty() ? Json(nullptr) : json_text(report.cuda_missing);
  return json_document(json);
}

}  // namespace

std::string render(Format format, const DevicesReport& report) {
  switch (format) {
    case Format::table:
      return devices_text(report);
    case Format::json:
      return devices_json(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
