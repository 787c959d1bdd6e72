#include "attn/report/doctor_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

Table checks_table(const DoctorReport& report) {
  Table table{{{"What"}, {"Works"}, {"Details"}}, {}};
  for (const DoctorCheck& check : report.checks)
    table.rows.push_back({check.name, check.works ? "yes" : "no", check.works ? check.detail : check.why_not});
  return table;
}

/// Returns a table with one fact in each row: versions, machine, limits, variables.
Table facts_table(const DoctorReport& report) {
  Table table{{{"Fact"}, {"Value"}}, {}};
  const auto add = [&](const std::string& fact, const std::string& value) { table.rows.push_back({fact, value}); };
  add("attn", fmt::format("{}, {}, {}", report.version, report.build, report.compiler));
  add("system", report.system);
  for (const DeviceRow& row : report.devices.devices) {
    std::string value = row.name;
    if (row.cores > 0) value += fmt::format(", {} core{}", row.cores, row.cores == 1 ? "" : "s");
    value += fmt::format(", {}, {}", byte_size(row.memory_bytes), join(row.details, " "));
    if (!row.kernel_isa.empty()) value += fmt::format("; kernels use {}", row.kernel_isa);
    add(row.device, value);
  }
  if (!report.devices.driver.empty()) add("NVIDIA driver", "CUDA " + report.devices.driver);
  add("memory free", byte_size(report.available_bytes));
  if (report.core_limit) add("limit of cores", measured(*report.core_limit));
  if (report.memory_limit) add("limit of memory", byte_size(*report.memory_limit));
  add("load", measured(report.load));
  for (const auto& [name, value] : report.variables) add(name, value);
  return table;
}

std::string notes_of(const DoctorReport& report, std::string_view begin) {
  std::string out;
  for (const std::string& note : report.notes) out += fmt::format("{}{}\n", begin, printable(note));
  return out;
}

std::string doctor_text(const DoctorReport& report) {
  std::string out = plain_table(checks_table(report)) + '\n' + plain_table(facts_table(report));
  if (!report.notes.empty()) out += '\n' + notes_of(report, "");
  if (report.links) out += '\n' + links_text(*report.links);
  return out + (report.works ? "\nModels run on this machine's CPU.\n" : "\nNo model runs here.\n");
}

std::string doctor_markdown(const DoctorReport& report) {
  std::string out = "### attn doctor\n\n" + markdown_table(checks_table(report)) + '\n';
  out += markdown_table(facts_table(report));
  if (!report.notes.empty()) out += '\n';
  for (const std::string& note : report.notes) out += fmt::format("- {}\n", markdown_text(note));
  if (report.links) out += "\n```\n" + links_text(*report.links) + "```\n";
  return out;
}

std::string doctor_json(const DoctorReport& report) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : json_text(text); };
  Json json;
  json["schema"] = "attn.doctor/1";
  json["works"] = report.works;
  json["version"] = report.version;
  json["build"] = report.build;
  json["compiler"] = report.compiler;
  json["onednn"] = Json{{"version", report.onednn}, {"isa", text_or_null(report.onednn_isa)}};
  json["hdf5"] = text_or_null(report.hdf5);
  json["system"] = json_text(report.system);
  json["checks"] = Json::array();
  for (const DoctorCheck& check : report.checks) {
    json["checks"].push_back({{"name", check.name},
                              {"works", check.works},
                              {"detail", text_or_null(check.detail)},
                              {"why_not", text_or_null(check.why_not)}});
  }
  const Json devices = Json::parse(render(Format::json, report.devices));
  for (const char* key : {"devices", "driver", "cuda_missing"}) json[key] = devices[key];
  json["available_bytes"] = report.available_bytes;
  json["core_limit"] = report.core_limit ? Json(*report.core_limit) : Json(nullptr);
  json["memory_limit_bytes"] = report.memory_limit ? Json(*report.memory_limit) : Json(nullptr);
  json["load"] = report.load;
  json["variables"] = Json::object();
  for (const auto& [name, value] : report.variables) json["variables"][printable(name)] = json_text(value);
  json["notes"] = Json::array();
  for (const std::string& note : report.notes) json["notes"].push_back(json_text(note));
  if (report.links) json["parallel"] = links_json(*report.links);
  return json_document(json);
}

}  // namespace

std::string render(Format format, const DoctorReport& report) {
  switch (format) {
    case Format::table:
      return doctor_text(report);
    case Format::json:
      return doctor_json(report);
    case Format::markdown:
      return doctor_markdown(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
