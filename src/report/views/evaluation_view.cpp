#include "attn/report/evaluation_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

std::string table_of(const EvaluationReport& report) {
  Table table{{{"Metric"}, {"Value", Align::right}}, {}};
  for (const auto& [name, values] : report.values) {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : " ") + number(value);
    table.rows.push_back({printable(name), std::move(text)});
  }
  return fmt::format("{}\n{}\n{}\n{}, batches of {}, {}, {}\n", setting_text(report.setting),
                     weights_line(report.setting), plain_table(table), counted(report.rows, "row"), report.batch_size,
                     printable(report.loss), duration(report.seconds));
}

std::string document(const EvaluationReport& report) {
  Json root;
  root["schema"] = "attn.evaluate/1";
  root.update(setting_json(report.setting));
  root["loss"] = json_text(report.loss);
  root["rows"] = report.rows;
  root["batch_size"] = report.batch_size;
  root["seconds"] = report.seconds;
  Json values = Json::object();
  for (const auto& [name, all] : report.values) values[printable(name)] = json_numbers(all);
  root["values"] = std::move(values);
  return json_document(root);
}

}  // namespace

std::string render(Format format, const EvaluationReport& report) {
  switch (format) {
    case Format::table:
      return table_of(report);
    case Format::json:
      return document(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
