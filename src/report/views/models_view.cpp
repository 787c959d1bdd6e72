#include "attn/report/models_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/table.h"
#include "diff_section.h"

namespace attn::report {
namespace {

using keras::ConfigDifference;
using keras::Summary;

constexpr std::size_t kLongestValue = 60;

/// Returns a value as text for a cell; a long one is shortened.
std::string value_text(const std::optional<std::string>& value) {
  if (!value) return "(none)";
  if (value->size() <= kLongestValue) return *value;
  std::size_t end = kLongestValue;
  while (end > 0 && (static_cast<unsigned char>((*value)[end]) & 0xC0U) == 0x80U)
    --end;  // do not cut inside a character
  return value->substr(0, end) + "…";
}

Table keys_table(const ModelsReport& report) {
  Table table{{{"Layer"}, {"Pointer"}, {"A"}, {"B"}}, {}};
  for (const ConfigDifference& row : report.result.config) {
    const bool moved = row.pointer_a && row.pointer_b && row.pointer_a != row.pointer_b;
    const std::string pointer = row.pointer_a ? *row.pointer_a : *row.pointer_b;
    table.rows.push_back({row.layer.empty() ? "-" : row.layer, moved ? pointer + ", in B " + *row.pointer_b : pointer,
                          value_text(row.a), value_text(row.b)});
  }
  return table;
}

Table layers_table(const ModelsReport& report) {
  Table table{{{"Layer"}, {"Class"}, {"What"}, {"A"}, {"B"}}, {}};
  for (const keras::LayerDifference& row : report.result.layers)
    table.rows.push_back({row.layer, row.class_name, row.what, row.a, row.b});
  return table;
}

std::string totals_text(const std::optional<Summary>& summary) {
  if (!summary) return "not built";
  return fmt::format("{} layers, {} params, {}", summary->rows.size(), with_commas(summary->total_params),
                     memory_size(summary->total_bytes));
}

std::string verdict(const ModelsReport& report) {
  const std::string unseen = report.without.empty()
                                 ? ""
                                 : fmt::format("; weights were not compared: {} holds none", printable(report.without));
  if (report.equal()) return "no difference" + unseen;
  const std::size_t keys = report.result.config.size(), rows = report.result.layers.size();
  std::string out =
      fmt::format("{} difference{} in the config, {} in shapes and parameters", keys, keys == 1 ? "" : "s", rows);
  if (report.weights) {
    const run::WeightsComparison& weights = report.weights->result;
    const auto differ =
        std::count_if(weights.both.begin(), weights.both.end(), [](const auto& pair) { return !pair.equal; });
    out += fmt::format(", {} in weights",
                       static_cast<std::size_t>(differ) + weights.only_a.size() + weights.only_b.size());
  }
  return out + unseen;
}

Json side_json(const std::string& file, const std::optional<Summary>& summary) {
  Json json;
  json["file"] = json_text(file);
  json["name"] = summary ? json_text(summary->name) : Json();
  json["total_params"] = summary ? json_integer(summary->total_params) : Json();
  json["trainable_params"] = summary ? json_integer(summary->trainable_params) : Json();
  json["total_bytes"] = summary ? json_integer(summary->total_bytes) : Json();
  return json;
}

Json text_json(const std::optional<std::string>& text) { return text ? json_text(*text) : Json(); }

/// Sets the member to the value, if there is one.
void set_value(Json& json, const char* key, const std::optional<std::string>& value) {
  if (value) json[key] = Json::parse(*value);
}

std::string models_text(const ModelsReport& report) {
  std::string out = fmt::format("A  {}: {}\nB  {}: {}\n", printable(report.a), totals_text(report.result.a),
                                printable(report.b), totals_text(report.result.b));
  if (!report.result.config.empty()) out += '\n' + plain_table(keys_table(report));
  if (!report.result.layers.empty()) out += '\n' + plain_table(layers_table(report));
  if (report.weights && !report.weights->result.equal()) out += '\n' + render(Format::table, *report.weights);
  return out + '\n' + verdict(report) + '\n';
}

std::string models_markdown(const ModelsReport& report) {
  std::string out = fmt::format("- A: {}: {}\n- B: {}: {}\n", markdown_text(report.a), totals_text(report.result.a),
                                markdown_text(report.b), totals_text(report.result.b));
  if (!report.result.config.empty()) out += '\n' + markdown_table(keys_table(report));
  if (!report.result.layers.empty()) out += '\n' + markdown_table(layers_table(report));
  if (report.weights && !report.weights->result.equal()) out += '\n' + render(Format::markdown, *report.weights);
  return out + "\n**" + markdown_text(verdict(report)) + "**\n";
}

std::string models_json(const ModelsReport& report) {
  Json json;
  json["schema"] = "attn.compare/1";
  json["kind"] = "config";
  json["equal"] = report.equal();
  json["a"] = side_json(report.a, report.result.a);
  json["b"] = side_json(report.b, report.result.b);
  json["config"] = Json::array();
  for (const ConfigDifference& row : report.result.config) {
    Json difference;
    difference["layer"] = row.layer.empty() ? Json() : json_text(row.layer);
    difference["pointer_a"] = text_json(row.pointer_a);
    difference["pointer_b"] = text_json(row.pointer_b);
    set_value(difference, "a", row.a);
    set_value(difference, "b", row.b);
    json["config"].push_back(std::move(difference));
  }
  json["layers"] = Json::array();
  for (const keras::LayerDifference& row : report.result.layers) {
    json["layers"].push_back({{"layer", json_text(row.layer)},
                              {"class_name", json_text(row.class_name)},
                              {"what", row.what},
                              {"a", json_text(row.a)},
                              {"b", json_text(row.b)}});
  }
  json["weights"] = report.weights ? diff_section(*report.weights) : Json();
  return json_document(json);
}

}  // namespace

std::string render(Format format, const ModelsReport& report) {
  switch (format) {
    case Format::table:
      return models_text(report);
    case Format::json:
      return models_json(report);
    case Format::markdown:
      return models_markdown(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
