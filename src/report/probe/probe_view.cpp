#include "attn/report/probe_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/setting.h"
#include "pictures/grid_page.h"
#include "pictures/grid_png.h"
#include "pictures/grid_svg.h"

namespace attn::report {
namespace {

std::vector<std::string> words_of(const std::vector<probe::Id>& ids, const TokenWord& word) {
  std::vector<std::string> out;
  for (const probe::Id id : ids) out.push_back(word(id));
  return out;
}

std::string heading(const ProbeReport& report) {
  return fmt::format("{}: {}", printable(report.setting.model), setting_text(report.setting));
}

std::string table_of(const ProbeReport& report) {
  std::string out = heading(report) + '\n' + weights_line(report.setting);
  const auto line = [&](const char* name, const std::vector<probe::Id>& ids) {
    return fmt::format("  {}: {}\n", name, printable(join(words_of(ids, report.word), " ")));
  };
  for (const probe::Prompt& prompt : report.prompts) {
    if (!prompt.encoder.empty()) out += line("encoder", prompt.encoder);
    out += line("tokens", prompt.ids);
  }
  return out + '\n' + report.findings.text;
}

Json tokens_json(const std::vector<probe::Id>& ids, const TokenWord& word) {
  Json out = Json::array();
  for (const std::string& each : words_of(ids, word)) out.push_back(json_text(each));
  return out;
}

std::string document(const ProbeReport& report) {
  Json root;
  root["schema"] = fmt::format("attn.probe-{}/1", report.operation);
  root.update(setting_json(report.setting));
  root["prompts"] = Json::array();
  for (const probe::Prompt& prompt : report.prompts) {
    Json json = {{"ids", prompt.ids}, {"tokens", tokens_json(prompt.ids, report.word)}};
    if (!prompt.encoder.empty()) {
      json["encoder_ids"] = prompt.encoder;
      json["encoder_tokens"] = tokens_json(prompt.encoder, report.word);
    }
    json["text"] = prompt.text ? json_text(*prompt.text) : Json();
    root["prompts"].push_back(std::move(json));
  }
  for (const auto& [name, value] : report.findings.members) root[name] = value;
  return json_document(root);
}

}  // namespace

ProbeFindings joined_findings(std::vector<std::pair<std::string, ProbeFindings>> all) {
  ProbeFindings out;
  out.rows = {{{"part"}, {"record"}, {"column"}, {"value"}}, {}};
  for (auto& [name, findings] : all) {
    Json json = Json::object();
    for (auto& [key, value] : findings.members) json[key] = std::move(value);
    out.members.emplace_back(name, std::move(json));
    for (std::size_t i = 0; i < findings.rows.rows.size(); ++i)
      for (std::size_t j = 0; j < findings.rows.columns.size(); ++j)
        out.rows.rows.push_back({name, std::to_string(i), findings.rows.columns[j].header, findings.rows.rows[i][j]});
    for (Grid& grid : findings.grids) out.grids.push_back(std::move(grid));
    out.text += fmt::format("{}{}\n\n{}", out.text.empty() ? "" : "\n", name, findings.text);
  }
  return out;
}

ProbeFindings findings_of(const std::vector<ListedPoint>& points) {
  ProbeFindings out;
  Json listed = Json::array();
  out.rows.columns = {{"Point"}, {"Shape"}, {"Dtype"}};
  for (const ListedPoint& point : points) {
    listed.push_back({{"name", point.name}, {"shape", point.shape}, {"dtype", point.dtype}});
    out.rows.rows.push_back({point.name, point.shape, point.dtype});
  }
  out.members.emplace_back("points", std::move(listed));
  out.text = plain_table(out.rows) + "\nB: prompts, T: positions of the prompt\n";
  return out;
}

ProbeFindings captured_findings(const std::string& path, const std::string& points) {
  ProbeFindings out;
  out.members = {{"file", json_text(path)}, {"points", json_text(points)}};
  out.text = fmt::format("wrote {} to {}\n", printable(points), printable(path));
  return out;
}

std::string metric_text(const probe::Metric& metric, const TokenWord& word) {
  if (!metric.versus) return fmt::format("logit of {}", printable(word(metric.token)));
  return fmt::format("logit of {} minus logit of {}", printable(word(metric.token)), printable(word(*metric.versus)));
}

Json metric_json(const probe::Metric& metric) {
  return {{"token", metric.token}, {"versus", metric.versus ? Json(*metric.versus) : Json()}};
}

std::string render(Format format, const ProbeReport& report) {
  switch (format) {
    case Format::table:
      return table_of(report);
    case Format::json:
      return document(report);
    case Format::csv:
      return csv_table(report.findings.rows);
    case Format::svg:
      return grids_svg(heading(report) + ", " + report.operation, report.findings.grids);
    case Format::png:
      return grids_png(heading(report) + ", " + report.operation, report.findings.grids);
    case Format::html:
      return grid_page(heading(report) + ", " + report.operation, report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
