#include "attn/report/costs_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"
#include "costs_rows.h"

namespace attn::report {
namespace {

std::string size_of_input(const CostReport& report) {
  std::string out = fmt::format("batch {}", report.batch);
  if (report.seq_len) out += fmt::format(", length {}", *report.seq_len);
  return out;
}

Json bytes_json(const std::vector<DTypeBytes>& list) {
  Json json = Json::object();
  for (const DTypeBytes& bytes : list) json[std::string(name_of(bytes.dtype))] = json_integer(bytes.bytes);
  return json;
}

Json shapes_json(const std::vector<Shape>& shapes) {
  if (shapes.empty()) return nullptr;
  if (shapes.size() == 1) return json_shape(shapes.front());
  Json list = Json::array();
  for (const Shape& shape : shapes) list.push_back(json_shape(shape));
  return list;
}

Json share_json(Count part, Count whole) {
  if (whole == 0) return nullptr;
  return static_cast<double>(part) / static_cast<double>(whole);
}

void add_costs(Json& json, const CostRow& row, const CostRow& total, const CostOptions& options) {
  json["params_share"] = share_json(row.params, total.params);
  json["weight_bytes"] = bytes_json(row.weight_bytes);
  if (!options.costs) return;
  json["flops"] = json_integer(row.flops);
  json["flops_share"] = share_json(row.flops, total.flops);
  json["hidden_flops"] = json_integer(row.hidden_flops);
  json["activation_bytes"] = json_integer(row.activation_bytes);
  json["score_bytes"] = json_integer(row.score_bytes);
}

/// Returns the displayed rows from `next` on that are at `level`. `known` are those of the summary for the outermost
/// level.
Json layers_json(const CostReport& report, const CostOptions& options, std::size_t& next, int level,
                 const std::vector<const keras::SummaryRow*>& known) {
  Json list = Json::array();
  for (std::size_t count = 0; next < report.rows.size() && report.rows[next].level >= level; ++count) {
    const std::size_t index = next++;
    const CostRow& row = report.rows[index];
    if (row.level > level || !is_shown(row, options)) {
      --count;
      continue;
    }
    Json json;
    json["name"] = json_text(row.name);
    json["class_name"] = row.class_name.empty() ? Json() : json_text(row.class_name);
    const keras::SummaryRow* symbolic = level == 0 && count < known.size() ? known[count] : nullptr;
    json["output_shape"] = shapes_json(symbolic != nullptr ? symbolic->output_shapes : row.output_shapes);
    json["params"] = json_integer(row.params);
    json["trainable_params"] = json_integer(symbolic != nullptr ? symbolic->trainable_params : row.trainable_params);
    json["connected_to"] = Json::array();
    if (symbolic != nullptr)
      for (const std::string& connection : symbolic->connected_to)
        json["connected_to"].push_back(json_text(connection));
    if (options.costs) json["computed_shape"] = shapes_json(row.output_shapes);
    add_costs(json, row, report.total, options);
    if (options.variables) {
      json["variables"] = Json::array();
      for (const VariableCost& variable : variables_of(report.rows, index, options)) {
        Json of_variable;
        of_variable["name"] = json_text(variable.name);
        of_variable["shape"] = json_shape(variable.shape);
        of_variable["dtype"] = name_of(variable.dtype);
        of_variable["params"] = json_integer(variable.params);
        of_variable["bytes"] = json_integer(variable.bytes);
        of_variable["trainable"] = variable.trainable;
        json["variables"].push_back(std::move(of_variable));
      }
    }
    if (next < report.rows.size() && report.rows[next].level > level) {
      Json inside = layers_json(report, options, next, level + 1, known);
      if (!inside.empty()) json["layers"] = std::move(inside);
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string costs_table(const keras::Summary& summary, const CostReport& report, const CostOptions& options) {
  std::string out = fmt::format("Model: \"{}\"", printable(summary.name));
  if (options.costs) out += ", " + size_of_input(report);
  out += "\n\n" + plain_table(costs_as_table(report, options)) + '\n';
  for (const CostLine& line : costs_totals(report, options))
    out += line.what.empty() ? fmt::format("{:13}{}\n", "", line.text) : fmt::format("{:13}{}\n", line.what, line.text);
  return out;
}

std::string costs_markdown(const keras::Summary& summary, const CostReport& report, const CostOptions& options) {
  std::string out = fmt::format("## {} ({})", markdown_text(summary.name), markdown_text(summary.class_name));
  if (options.costs) out += ": " + size_of_input(report);
  out += "\n\n" + markdown_table(costs_as_table(report, options)) + '\n';
  for (const CostLine& line : costs_totals(report, options))
    out += line.what.empty() ? fmt::format("- {}\n", line.text) : fmt::format("- {}: {}\n", line.what, line.text);
  return out;
}

std::string costs_csv(const CostReport& report, const CostOptions& options) {
  Table table{
      {{"name"}, {"class_name"}, {"level"}, {"shape"}, {"dtype"}, {"params"}, {"trainable_params"}, {"weight_bytes"}},
      {}};
  if (options.costs)
    for (const char* column : {"flops", "flops_share", "hidden_flops", "activation_bytes", "score_bytes"})
      table.columns.push_back({column});
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const CostRow& row = report.rows[i];
    if (!is_shown(row, options)) continue;
    Count bytes = 0;
    std::vector<std::string> dtypes;
    for (const DTypeBytes& of_dtype : row.weight_bytes) {
      bytes += of_dtype.bytes;
      dtypes.emplace_back(name_of(of_dtype.dtype));
    }
    std::vector<std::string> cells{row.name,
                                   row.class_name,
                                   fmt::format("{}", row.level),
                                   row.output_shapes.empty() ? "" : shapes_text(row.output_shapes),
                                   join(dtypes, " "),
                                   fmt::format("{}", row.params),
                                   fmt::format("{}", row.trainable_params),
                                   fmt::format("{}", bytes)};
    if (options.costs) {
      const double share =
          report.total.flops == 0 ? 0 : static_cast<double>(row.flops) / static_cast<double>(report.total.flops);
      for (const std::string& cell :
           {fmt::format("{}", row.flops), fmt::format("{}", share), fmt::format("{}", row.hidden_flops),
            fmt::format("{}", row.activation_bytes), fmt::format("{}", row.score_bytes)})
        cells.push_back(cell);
    }
    table.rows.push_back(std::move(cells));
    if (!options.variables) continue;
    for (const VariableCost& variable : variables_of(report.rows, i, options)) {
      table.rows.push_back({variable.name, "", fmt::format("{}", row.level + 1), variable.shape.str(),
                            std::string(name_of(variable.dtype)), fmt::format("{}", variable.params),
                            fmt::format("{}", variable.trainable ? variable.params : 0),
                            fmt::format("{}", variable.bytes)});
      table.rows.back().resize(table.columns.size());
    }
  }
  return csv_table(table);
}

std::string costs_json(const keras::Summary& summary, const CostReport& report, const CostOptions& options) {
  std::vector<const keras::SummaryRow*> known;
  for (const keras::SummaryRow& row : summary.rows)
    if (row.level == 0) known.push_back(&row);
  Json json;
  json["schema"] = "attn.summary/1";
  json["name"] = json_text(summary.name);
  json["class_name"] = json_text(summary.class_name);
  std::size_t next = 0;
  json["layers"] = layers_json(report, options, next, 0, known);
  json["total_params"] = json_integer(summary.total_params);
  json["trainable_params"] = json_integer(summary.trainable_params);
  json["non_trainable_params"] = json_integer(summary.non_trainable_params);
  json["total_bytes"] = json_integer(summary.total_bytes);
  if (!options.costs) return json_document(json);
  json["costs"]["batch"] = report.batch;
  json["costs"]["seq_len"] = report.seq_len ? Json(*report.seq_len) : Json();
  json["costs"]["flops"] = json_integer(report.total.flops);
  json["costs"]["hidden_flops"] = json_integer(report.total.hidden_flops);
  json["costs"]["weight_bytes"] = bytes_json(report.total.weight_bytes);
  json["costs"]["activation_bytes"] = json_integer(report.total.activation_bytes);
  json["costs"]["score_bytes"] = json_integer(report.total.score_bytes);
  json["costs"]["peak_bytes"] = json_integer(report.peak.total());
  json["costs"]["peak"]["weights"] = report.peak.weights;
  json["costs"]["peak"]["prepared"] = report.peak.prepared;
  json["costs"]["peak"]["inputs"] = report.peak.inputs;
  json["costs"]["peak"]["activations"] = report.peak.activations;
  return json_document(json);
}

}  // namespace

std::string render(Format format, const keras::Summary& summary, const CostReport& report, const CostOptions& options) {
  switch (format) {
    case Format::table:
      return costs_table(summary, report, options);
    case Format::json:
      return costs_json(summary, report, options);
    case Format::markdown:
      return costs_markdown(summary, report, options);
    case Format::csv:
      return costs_csv(report, options);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
