#include "attn/report/weights_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

using Weight = ModelCheck::Weight;

struct Totals {
  std::int64_t elements = 0, bytes = 0, not_finite = 0;
};

Totals totals_of(const WeightsReport& report) {
  Totals out;
  for (const ArrayReport& array : report.arrays) {
    out.elements += array.elements;
    out.bytes += array.bytes;
    if (array.nan_count + array.inf_count > 0) ++out.not_finite;
  }
  return out;
}

Table table_of(const WeightsReport& report) {
  Table table{{{"Array"},
               {"Shape"},
               {"Dtype"},
               {"Bytes", Align::right},
               {"Min", Align::right},
               {"Max", Align::right},
               {"Mean", Align::right},
               {"Std", Align::right},
               {"NaN", Align::right},
               {"Inf", Align::right}},
              {}};
  const bool sums = std::ranges::any_of(report.arrays, [](const ArrayReport& array) { return !array.sha256.empty(); });
  if (sums) table.columns.push_back({"SHA-256"});
  for (const ArrayReport& array : report.arrays) {
    table.rows.push_back({array.name, array.shape.str(), std::string(name_of(array.dtype)), with_commas(array.bytes),
                          number(array.min), number(array.max), number(array.mean), number(array.std),
                          with_commas(array.nan_count), with_commas(array.inf_count)});
    if (sums) table.rows.back().push_back(array.sha256);
  }
  return table;
}

std::string totals_text(const WeightsReport& report) {
  const Totals totals = totals_of(report);
  std::string out = fmt::format("{}, {}, {}\n", counted(static_cast<std::int64_t>(report.arrays.size()), "array"),
                                counted(totals.elements, "element"), byte_size(totals.bytes));
  if (totals.not_finite > 0) out += fmt::format("NaN or infinite values in {}\n", counted(totals.not_finite, "array"));
  return out;
}

/// Returns the results of the check, one line each.
std::string check_text(const ModelCheck& check) {
  if (check.pass()) return fmt::format("All {} of {}\n", counted(check.weights, "weight"), printable(check.model));
  std::string out = fmt::format("Not the weights of {}:\n", printable(check.model));
  for (const Weight& weight : check.missing)
    out += fmt::format("  missing: {} {}\n", printable(weight.name), weight.expected.str());
  for (const Weight& weight : check.extra)
    out += fmt::format("  not the model's: {} {}\n", printable(weight.name), weight.found.str());
  for (const Weight& weight : check.mismatched) {
    out += fmt::format("  {}: expected {} {}, found {} {}\n", printable(weight.name), name_of(weight.expected_dtype),
                       weight.expected.str(), name_of(weight.found_dtype), weight.found.str());
  }
  return out;
}

Json array_json(const ArrayReport& array) {
  Json json;
  json["name"] = json_text(array.name);
  json["shape"] = json_shape(array.shape);
  json["dtype"] = json_text(name_of(array.dtype));
  json["elements"] = array.elements;
  json["bytes"] = array.bytes;
  json["min"] = array.min;
  json["max"] = array.max;
  json["mean"] = array.mean;
  json["std"] = array.std;
  json["nan_count"] = array.nan_count;
  json["inf_count"] = array.inf_count;
  json["zeros"] = array.zeros;
  if (!array.sha256.empty()) json["sha256"] = array.sha256;
  return json;
}

Json expected_json(const Weight& weight) {
  return {{"name", json_text(weight.name)},
          {"shape", json_shape(weight.expected)},
          {"dtype", json_text(name_of(weight.expected_dtype))}};
}

Json found_json(const Weight& weight) {
  return {{"name", json_text(weight.name)},
          {"shape", json_shape(weight.found)},
          {"dtype", json_text(name_of(weight.found_dtype))}};
}

Json check_json(const ModelCheck& check) {
  Json json;
  json["name"] = json_text(check.model);
  json["weights"] = check.weights;
  json["pass"] = check.pass();
  json["missing"] = json["extra"] = json["mismatched"] = Json::array();
  for (const Weight& weight : check.missing) json["missing"].push_back(expected_json(weight));
  for (const Weight& weight : check.extra) json["extra"].push_back(found_json(weight));
  for (const Weight& weight : check.mismatched) {
    Json entry = found_json(weight);
    entry["expected_shape"] = json_shape(weight.expected);
    entry["expected_dtype"] = json_text(name_of(weight.expected_dtype));
    json["mismatched"].push_back(entry);
  }
  return json;
}

std::string weights_text(const WeightsReport& report) {
  return plain_table(table_of(report)) + '\n' + totals_text(report) + (report.check ? check_text(*report.check) : "");
}

std::string weights_markdown(const WeightsReport& report) {
  std::string out = "# " + markdown_text(report.file) + "\n\n" + markdown_table(table_of(report)) + '\n';
  for (std::string line : split(totals_text(report) + (report.check ? check_text(*report.check) : ""), '\n')) {
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty()) out += "- " + markdown_text(line) + '\n';
  }
  return out;
}

std::string weights_csv(const WeightsReport& report) {
  Table table{{{"name"},
               {"shape"},
               {"dtype"},
               {"elements"},
               {"bytes"},
               {"min"},
               {"max"},
               {"mean"},
               {"std"},
               {"nan_count"},
               {"inf_count"},
               {"zeros"}},
              {}};
  for (const ArrayReport& array : report.arrays) {
    table.rows.push_back({array.name, array.shape.str(), std::string(name_of(array.dtype)),
                          std::to_string(array.elements), std::to_string(array.bytes), python_repr(array.min),
                          python_repr(array.max), python_repr(array.mean), python_repr(array.std),
                          std::to_string(array.nan_count), std::to_string(array.inf_count),
                          std::to_string(array.zeros)});
  }
  return csv_table(table);
}

std::string weights_json(const WeightsReport& report) {
  const Totals totals = totals_of(report);
  Json json;
  json["schema"] = "attn.weights/1";
  json["file"] = json_text(report.file);
  json["arrays"] = Json::array();
  for (const ArrayReport& array : report.arrays) json["arrays"].push_back(array_json(array));
  json["total_arrays"] = report.arrays.size();
  json["total_elements"] = totals.elements;
  json["total_bytes"] = totals.bytes;
  if (report.check) json["model"] = check_json(*report.check);
  return json_document(json);
}

std::string saved_text(const SavedReport& report) {
  return fmt::format("{}: {}, {}, {}\n", printable(report.file), counted(report.weights, "weight"),
                     counted(report.elements, "element"), byte_size(report.bytes));
}

std::string saved_json(const SavedReport& report, const std::string& command) {
  Json json;
  json["schema"] = fmt::format("attn.{}/1", command);
  json["file"] = json_text(report.file);
  json["weights"] = report.weights;
  json["elements"] = report.elements;
  json["bytes"] = report.bytes;
  if (!report.sources.empty()) json["sources"] = Json::array();
  for (const SavedReport::Source& source : report.sources)
    json["sources"].push_back({{"array", json_text(source.array)}, {"weight", json_text(source.weight)}});
  return json_document(json);
}

}  // namespace

std::string render(Format format, const WeightsReport& report) {
  switch (format) {
    case Format::table:
      return weights_text(report);
    case Format::json:
      return weights_json(report);
    case Format::markdown:
      return weights_markdown(report);
    case Format::csv:
      return weights_csv(report);
    default:
      refuse(format);
  }
}

std::string render(Format format, const SavedReport& report, const std::string& command) {
  switch (format) {
    case Format::table:
      return saved_text(report);
    case Format::json:
      return saved_json(report, command);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
