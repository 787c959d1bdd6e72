#include "attn/report/run_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/finite_view.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/parallel_view.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "views/labels_view.h"
#include "views/records.h"

namespace attn::report {
namespace {

std::string values_text(const std::vector<double>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) texts.push_back(number(value));
  return join(texts, " ");
}

constexpr std::string_view kString = "string";

/// Returns the first strings, in Python's notation.
std::string strings_text(const std::vector<std::string>& strings) {
  constexpr std::size_t kFirst = 5, kMostBytes = 40;
  std::vector<std::string> texts;
  for (const std::string& text : strings) {
    if (texts.size() == kFirst) break;
    texts.push_back(python_repr(shortened(text, kMostBytes)));
  }
  return join(texts, " ");
}

/// Returns the strings as nested lists in their shape; a single string is in a list.
Json nested(const std::vector<std::string>& strings, const Shape& shape, int axis, std::size_t& at) {
  if (axis == shape.rank()) return json_text(strings[at++]);
  Json list = Json::array();
  for (Dim i = 0; i < shape[axis]; ++i) list.push_back(nested(strings, shape, axis + 1, at));
  return list;
}

Table outputs_table(const RunReport& report) {
  Table table{{{"Output"},
               {"Shape"},
               {"Dtype"},
               {"Mean", Align::right},
               {"Std", Align::right},
               {"Min", Align::right},
               {"Max", Align::right},
               {"First values"}},
              {}};
  for (const OutputReport& output : report.outputs) {
    if (output.dtype == kString) {
      table.rows.push_back(
          {output.name, output.shape.str(), output.dtype, "-", "-", "-", "-", strings_text(output.strings)});
      continue;
    }
    table.rows.push_back({output.name, output.shape.str(), output.dtype, number(output.mean), number(output.std),
                          number(output.min), number(output.max), values_text(output.first_values)});
  }
  return table;
}

std::string comparison_text(const run::OutputComparison& output) {
  const std::string name = printable(output.name);
  if (!output.problem.empty()) return fmt::format("  {}: {}\n", name, printable(output.problem));
  if (output.pass) return fmt::format("  {}: agrees, max abs error {}\n", name, number(output.max_abs_error));
  return fmt::format("  {}: {} of {} values differ, max abs error {}; worst at {}: expected {}, got {}\n", name,
                     with_commas(output.mismatches), with_commas(output.elements), number(output.max_abs_error),
                     index_text(output.worst_index), number(output.expected), number(output.got));
}

Json output_json(const OutputReport& output) {
  Json json;
  json["name"] = json_text(output.name);
  json["shape"] = json_shape(output.shape);
  json["dtype"] = json_text(output.dtype);
  const bool is_text = output.dtype == kString;
  const auto figure = [&](double value) { return is_text ? Json(nullptr) : Json(value); };
  json["mean"] = figure(output.mean);
  json["std"] = figure(output.std);
  json["min"] = figure(output.min);
  json["max"] = figure(output.max);
  json["non_finite"] = output.non_finite;
  json["first_values"] = output.first_values;
  json["sha256"] = output.sha256;
  std::size_t at = 0;
  const Shape shape = output.shape.rank() == 0 ? Shape{1} : output.shape;
  if (is_text) json["strings"] = nested(output.strings, shape, 0, at);
  return json;
}

Json comparison_json(const run::OutputComparison& output) {
  Json json;
  json["name"] = json_text(output.name);
  json["pass"] = output.pass;
  json["problem"] = output.problem.empty() ? Json(nullptr) : json_text(output.problem);
  json["elements"] = output.elements;
  json["mismatches"] = output.mismatches;
  json["max_abs_error"] = output.max_abs_error;
  json["worst_index"] = output.worst_index;
  json["expected"] = output.expected;
  json["got"] = output.got;
  return json;
}

}  // namespace

Json compare_json(const CompareReport& compare) {
  Json json;
  json["file"] = json_text(compare.file);
  json["rtol"] = compare.rtol;
  json["atol"] = compare.atol;
  json["pass"] = compare.pass;
  json["outputs"] = Json::array();
  for (const run::OutputComparison& output : compare.outputs) json["outputs"].push_back(comparison_json(output));
  return json;
}

std::string compare_text(const CompareReport& compare) {
  std::string out = fmt::format("{} {} (rtol {}, atol {})\n", compare.pass ? "Agrees with" : "Differs from",
                                printable(compare.file), number(compare.rtol), number(compare.atol));
  for (const run::OutputComparison& output : compare.outputs) out += comparison_text(output);
  return out;
}

namespace {

std::string run_text(const RunReport& report) {
  std::string out =
      fmt::format("{}: {}, seed {}\n", printable(report.setting.model), setting_text(report.setting), report.seed);
  out += weights_line(report.setting);
  for (const InputReport& input : report.inputs) {
    out += fmt::format("  input {} {} {}: {}\n", printable(input.name), input.shape.str(), printable(input.dtype),
                       printable(input.source));
  }
  out += '\n' + plain_table(outputs_table(report)) + '\n';
  for (const OutputReport& output : report.outputs) {
    if (output.non_finite == 0) continue;
    out += fmt::format("{}: {} of its values are NaN or infinite\n", printable(output.name),
                       with_commas(output.non_finite));
  }
  if (report.labels) out += labels_text(*report.labels);
  if (report.finite) out += finite_text(*report.finite);
  if (report.compare) out += compare_text(*report.compare);
  if (report.parallel) out += parallel_text(*report.parallel);
  out += fmt::format("load {}, prepare {}, run {}\n", duration(report.load_seconds), duration(report.prepare_seconds),
                     duration(report.run_seconds));
  return out;
}

std::string run_json(const RunReport& report) {
  Json json;
  json["schema"] = "attn.run/1";
  json.update(setting_json(report.setting));
  json["seed"] = report.seed;
  json["inputs"] = Json::array();
  for (const InputReport& input : report.inputs) json["inputs"].push_back(input_json(input));
  json["outputs"] = Json::array();
  for (const OutputReport& output : report.outputs) json["outputs"].push_back(output_json(output));
  if (report.labels) json["labels"] = labels_json(*report.labels);
  json["ms"] = {{"load", report.load_seconds * kMilliseconds},
                {"prepare", report.prepare_seconds * kMilliseconds},
                {"run", report.run_seconds * kMilliseconds}};
  json["memory"] = {{"predicted_bytes", report.predicted_bytes}, {"peak_bytes", report.peak_bytes}};
  if (report.parallel) json["parallel"] = parallel_json(*report.parallel);
  if (report.compare) json["compare"] = compare_json(*report.compare);
  if (report.finite) {
    json["layer_outputs_checked"] = report.finite->checked;
    json["non_finite"] = finite_json(*report.finite);
  }
  return json_document(json);
}

}  // namespace

std::string render(Format format, const RunReport& report) {
  switch (format) {
    case Format::table:
      return run_text(report);
    case Format::json:
      return run_json(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
