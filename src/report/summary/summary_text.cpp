#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/masks_view.h"
#include "attn/report/summary.h"
#include "attn/report/table.h"
#include "summary_rows.h"
#include "summary_table.h"

// The formats of a summary; Keras's table is in summary_table.cpp.

namespace attn::report {
namespace {

using keras::Summary;
using keras::SummaryRow;
using Rows = std::vector<const SummaryRow*>;

Json shapes_json(const SummaryRow& row) {
  if (row.output_shapes.empty()) return nullptr;
  if (row.output_shapes.size() == 1) return json_shape(row.output_shapes.front());
  Json list = Json::array();
  for (const Shape& shape : row.output_shapes) list.push_back(json_shape(shape));
  return list;
}

Json row_json(const SummaryRow& row) {
  Json json;
  json["name"] = json_text(row.name);
  json["class_name"] = json_text(row.class_name);
  if (row.custom) json["custom"] = true;
  json["output_shape"] = shapes_json(row);
  json["params"] = row.unknown_params ? Json() : json_integer(row.params);
  json["trainable_params"] = row.unknown_params ? Json() : json_integer(row.trainable_params);
  json["connected_to"] = Json::array();
  for (const std::string& connection : row.connected_to) json["connected_to"].push_back(json_text(connection));
  return json;
}

/// Returns the rows from `next` on that are at `level`, each with the following deeper ones as its layers.
Json layers_json(const Rows& rows, std::size_t& next, int level) {
  Json list = Json::array();
  while (next < rows.size() && rows[next]->level >= level) {
    Json layer = row_json(*rows[next]);
    ++next;
    if (next < rows.size() && rows[next]->level > level) layer["layers"] = layers_json(rows, next, level + 1);
    list.push_back(std::move(layer));
  }
  return list;
}

std::string nested_name(const SummaryRow& row) {
  if (row.level == 0) return row.name;
  std::string name;
  for (int i = 1; i < row.level; ++i) name += "· ";
  return name + "└ " + row.name;
}

std::string summary_json(const Summary& summary, const SummaryOptions& options, const keras::MaskTrace* masks) {
  const Rows rows = shown_rows(summary, options);
  std::size_t next = 0;
  Json json;
  json["schema"] = "attn.summary/1";
  json["name"] = json_text(summary.name);
  json["class_name"] = json_text(summary.class_name);
  json["layers"] = layers_json(rows, next, 0);
  for (const auto& [key, count] : {std::pair("total_params", summary.total_params),
                                   {"trainable_params", summary.trainable_params},
                                   {"non_trainable_params", summary.non_trainable_params},
                                   {"total_bytes", summary.total_bytes}})
    json[key] = summary.unknown_params ? Json() : json_integer(count);
  if (summary.optimizer) {
    json["optimizer_params"] = json_integer(summary.optimizer->params);
    json["optimizer_bytes"] = json_integer(summary.optimizer->bytes);
  }
  if (masks != nullptr) add_masks(json, *masks, options.expand_nested);
  return json_document(json);
}

std::string summary_markdown(const Summary& summary, const SummaryOptions& options) {
  Table table{{{"Layer"}, {"Type"}, {"Output shape"}, {"Params", Align::right}}, {}};
  if (!summary.sequential_like) table.columns.push_back({"Connected to"});
  if (options.show_trainable) table.columns.push_back({"Trainable"});
  for (const SummaryRow* row : shown_rows(summary, options)) {
    table.rows.push_back({nested_name(*row), row->class_name, row->output_shape_text,
                          row->unknown_params ? "?"
                          : row->built        ? with_commas(row->params)
                                              : "unbuilt"});
    if (!summary.sequential_like) table.rows.back().push_back(join(row->connected_to, ", "));
    if (options.show_trainable) table.rows.back().push_back(!row->trainable ? "" : *row->trainable ? "yes" : "no");
  }
  std::string out = fmt::format("## {} ({})\n\n", markdown_text(summary.name), markdown_text(summary.class_name));
  out += markdown_table(table) + '\n';
  for (const std::string& line : total_lines(summary)) out += fmt::format("- {}\n", line);
  return out;
}

std::string summary_csv(const Summary& summary, const SummaryOptions& options) {
  Table table{
      {{"name"}, {"class_name"}, {"level"}, {"output_shape"}, {"params"}, {"trainable_params"}, {"connected_to"}}, {}};
  for (const SummaryRow* row : shown_rows(summary, options)) {
    table.rows.push_back({row->name, row->class_name, fmt::format("{}", row->level), row->output_shape_text,
                          row->unknown_params ? "" : fmt::format("{}", row->params),
                          row->unknown_params ? "" : fmt::format("{}", row->trainable_params),
                          join(row->connected_to, " ")});
  }
  return csv_table(table);
}

}  // namespace

std::string render(Format format, const Summary& summary, const SummaryOptions& options,
                   const keras::MaskTrace* masks) {
  switch (format) {
    case Format::table:
      return summary_table(summary, options);
    case Format::json:
      return summary_json(summary, options, masks);
    case Format::markdown:
      return summary_markdown(summary, options);
    case Format::csv:
      return summary_csv(summary, options);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
