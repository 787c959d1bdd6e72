#include "attn/report/compare_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "views/records.h"

namespace attn::report {
namespace {

using run::ArrayComparison;

constexpr int kBarWidth = 40;

std::string side_text(const ComparedSide& side) {
  std::string out = side.setting ? setting_text(*side.setting) : side.file;
  if (!side.weights.empty()) out += ", weights " + side.weights;
  return out;
}

std::string class_text(const ArrayComparison& array) { return array.is_output() ? "output" : array.class_name; }

std::string result_text(const ArrayComparison& array) {
  if (!array.values.problem.empty()) return array.values.problem;
  if (array.histogram.equal == array.values.elements) return "same bits";
  if (array.values.pass) return "agrees";
  return fmt::format("{} of {} differ", with_commas(array.values.mismatches), with_commas(array.values.elements));
}

Table table_of(const RunComparisonReport& report) {
  Table table{{{"Layer"},
               {"Class"},
               {"Shape"},
               {"Max abs", Align::right},
               {"Relative", Align::right},
               {"Cosine", Align::right},
               {"ULP", Align::right},
               {"Result"}},
              {}};
  for (const ArrayComparison& array : report.result.arrays) {
    std::vector<std::string> row = {array.name, class_text(array)};
    if (array.values.problem.empty()) {
      row.insert(row.end(), {array.shape.str(), number(array.values.max_abs_error), number(array.similarity.relative),
                             number(array.similarity.cosine), with_commas(static_cast<UInt128>(array.max_steps))});
    } else {
      row.resize(table.columns.size() - 1, "-");
    }
    row.push_back(result_text(array));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Returns the array that is shown in detail: the first that differs, otherwise the one with the largest difference.
const ArrayComparison* in_detail(const run::RunComparison& result) {
  if (const ArrayComparison* first = result.first()) return first;
  const auto found = std::max_element(result.arrays.begin(), result.arrays.end(), [](const auto& a, const auto& b) {
    return a.values.max_abs_error < b.values.max_abs_error;
  });
  return found == result.arrays.end() || found->values.max_abs_error == 0 ? nullptr : &*found;
}

/// Returns the smallest tolerance with which all arrays pass.
run::Tolerance needed_by_all(const run::RunComparison& result) {
  run::Tolerance out{0, 0};
  for (const ArrayComparison& array : result.arrays) {
    const bool compared = array.values.problem.empty();
    constexpr double kImpossible = std::numeric_limits<double>::infinity();
    // No tolerance applies to integers.
    const bool exact = !is_floating(array.expected_dtype) && !is_floating(array.got_dtype);
    const bool impossible = !compared || (exact && !array.values.pass);
    out.rtol = std::max(out.rtol, impossible ? kImpossible : exact ? 0 : array.values.needed.rtol);
    out.atol = std::max(out.atol, impossible ? kImpossible : exact ? 0 : array.values.needed.atol);
  }
  return out;
}

std::string needed_text(const run::Tolerance& needed) {
  std::vector<std::string> ways;
  if (std::isfinite(needed.atol)) ways.push_back(fmt::format("--atol {} (rtol unchanged)", number(needed.atol)));
  if (std::isfinite(needed.rtol)) ways.push_back(fmt::format("--rtol {} (atol unchanged)", number(needed.rtol)));
  return ways.empty() ? "" : join(ways, ", or with ");
}

std::string bin_text(const run::Histogram::Bin& bin) { return fmt::format("up to {}", number(bin.to)); }

Table histogram_table(const run::Histogram& histogram) {
  Table table{{{"|B - A|"}, {"Values", Align::right}, {""}}, {}};
  std::int64_t most = std::max<std::int64_t>({1, histogram.equal, histogram.unordered});
  for (const auto& bin : histogram.bins) most = std::max(most, bin.count);
  const auto add = [&](const std::string& what, std::int64_t count) {
    const auto length = (count * kBarWidth + most - 1) / most;
    table.rows.push_back({what, with_commas(count), std::string(static_cast<std::size_t>(length), '#')});
  };
  add("equal", histogram.equal);
  for (const auto& bin : histogram.bins) add(bin_text(bin), bin.count);
  if (histogram.unordered > 0) add("NaN or Inf in one", histogram.unordered);
  return table;
}

std::string verdict(const RunComparisonReport& report) {
  const auto& arrays = report.result.arrays;
  if (const ArrayComparison* first = report.result.first()) {
    const auto differing =
        std::count_if(arrays.begin(), arrays.end(), [](const auto& array) { return !array.values.pass; });
    return fmt::format("Differs: {} of {}. The first is '{}' ({}): {}", differing, counted(std::ssize(arrays), "array"),
                       first->name, class_text(*first), result_text(*first));
  }
  const auto outputs = std::count_if(arrays.begin(), arrays.end(), [](const auto& array) { return array.is_output(); });
  const auto layers = arrays.size() - static_cast<std::size_t>(outputs);
  return "Agrees: " + (layers == 0 ? "" : counted(static_cast<std::int64_t>(layers), "array") + " of layers and ") +
         counted(outputs, "output") + " of the model";
}

/// Returns sentences about one array.
std::vector<std::string> details(const ArrayComparison& array, const RunComparisonReport& report) {
  const run::OutputComparison& values = array.values;
  if (!values.problem.empty()) return {};
  std::vector<std::string> out;
  if (report.result.equal())
    out.push_back(fmt::format("the largest difference is in '{}' ({})", array.name, class_text(array)));
  const int digits = array.steps_dtype == DType::float64 ? 17 : 9;  // enough to distinguish all numbers
  out.push_back(fmt::format("worst at {}: A {:.{}g}, B {:.{}g}", index_text(values.worst_index), values.expected,
                            digits, values.got, digits));
  std::string distance = fmt::format("at most {} apart, or {} steps of {} (ULP)", number(values.max_abs_error),
                                     with_commas(static_cast<UInt128>(array.max_steps)), name_of(array.steps_dtype));
  if (!is_floating(array.steps_dtype)) distance = fmt::format("at most {} apart", number(values.max_abs_error));
  out.push_back(fmt::format("{}; relative {}, cosine {}", distance, number(array.similarity.relative),
                            number(array.similarity.cosine)));
  if (values.nan_pairs > 0) out.push_back(fmt::format("NaN in both, which agrees: {}", with_commas(values.nan_pairs)));
  if (values.unordered > 0)
    out.push_back(
        fmt::format("NaN or Inf on one side only, which no tolerance allows: {}", with_commas(values.unordered)));
  return out;
}

/// Returns sentences about everything except the arrays.
std::vector<std::string> notes(const RunComparisonReport& report) {
  std::vector<std::string> out;
  const std::string needed = needed_text(needed_by_all(report.result));
  if (!report.result.equal()) {
    out.push_back(needed.empty() ? "no tolerance would let all pass" : "all would pass with " + needed);
  } else if (in_detail(report.result) != nullptr) {
    out.push_back("all still pass with " + needed);
  }
  if (report.quantized) {
    double relative = 0, cosine = 1;
    for (const ArrayComparison& array : report.result.arrays) {
      if (!array.is_output() || !array.values.problem.empty()) continue;
      relative = std::max(relative, array.similarity.relative);
      cosine = std::min(cosine, array.similarity.cosine);
    }
    out.push_back(fmt::format(
        "quantizing to int{} changes the outputs by {} of their norm (cosine {}), and weights take {} instead of {}",
        report.quantized->bits, percent(relative), measured(cosine), byte_size(report.quantized->bytes),
        byte_size(report.quantized->float_bytes)));
  }
  if (report.weights) {
    std::vector<std::string> differing;
    for (const run::PairedArray& pair : report.weights->both)
      if (!pair.equal) differing.push_back(pair.name);
    std::string text = fmt::format("weights: {} of {} differ", differing.size(), report.weights->both.size());
    if (!differing.empty()) text += fmt::format(", first '{}'", differing.front());
    out.push_back(text);
  }
  const auto count_with_first = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty())
      out.push_back(fmt::format("{} {}: '{}'{}", counted(std::ssize(names), "array"), what, names.front(),
                                names.size() > 1 ? ", …" : ""));
  };
  count_with_first(report.result.finer, "of the file for parts of layers, not compared");
  count_with_first(report.result.absent, "of layers missing in the file");
  return out;
}

std::string rule_text(const RunComparisonReport& report) {
  return fmt::format("B agrees where |B - A| <= atol + rtol * |A|, with rtol {} and atol {}{}: {}",
                     number(report.tolerance.rtol), number(report.tolerance.atol),
                     report.tolerance.of_rms ? " of A's root mean square" : "", report.tolerance_reason);
}

std::string inputs_text(const RunComparisonReport& report) {
  std::vector<std::string> out;
  for (const InputReport& input : report.inputs)
    out.push_back(fmt::format("{} {} {}", input.name, input.shape.str(),
                              input.source == "random" ? fmt::format("random (seed {})", report.seed) : input.source));
  return join(out, "; ");
}

Json side_json(const ComparedSide& side) {
  Json json;
  json["file"] = side.file.empty() ? Json() : json_text(side.file);
  json["weights"] = side.weights.empty() ? Json() : json_text(side.weights);
  json["setting"] = side.setting ? setting_json(*side.setting) : Json();
  return json;
}

Json histogram_json(const run::Histogram& histogram) {
  Json json;
  json["equal"] = histogram.equal;
  json["not_finite_in_one"] = histogram.unordered;
  json["bins"] = Json::array();
  for (const auto& bin : histogram.bins)
    json["bins"].push_back({{"from", bin.from}, {"to", bin.to}, {"count", bin.count}});
  return json;
}

Json array_json(const ArrayComparison& array) {
  const run::OutputComparison& values = array.values;
  Json json;
  json["name"] = json_text(array.name);
  json["kind"] = array.is_output() ? "output" : "layer";
  json["class_name"] = array.is_output() ? Json() : json_text(array.class_name);
  json["equal"] = values.pass;
  json["problem"] = values.problem.empty() ? Json() : json_text(values.problem);
  if (!values.problem.empty()) return json;
  json["shape"] = json_shape(array.shape);
  json["dtype_a"] = name_of(array.expected_dtype);
  json["dtype_b"] = name_of(array.got_dtype);
  json["rtol"] = array.tolerance.rtol;
  json["atol"] = array.tolerance.atol;
  json["elements"] = values.elements;
  json["mismatches"] = values.mismatches;
  json["nan_in_both"] = values.nan_pairs;
  json["not_finite_in_one"] = values.unordered;
  json["max_abs_error"] = values.max_abs_error;
  json["relative"] = array.similarity.relative;
  json["cosine"] = array.similarity.cosine;
  json["max_ulp"] = array.max_steps;
  json["ulp_dtype"] = name_of(array.steps_dtype);
  json["worst_index"] = values.worst_index;
  json["a"] = values.expected;
  json["b"] = values.got;
  json["minimum_rtol"] = values.needed.rtol;
  json["minimum_atol"] = values.needed.atol;
  json["histogram"] = histogram_json(array.histogram);
  return json;
}

Json names_json(const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const std::string& name : names) json.push_back(json_text(name));
  return json;
}

std::string comparison_text(const RunComparisonReport& report) {
  std::string out = fmt::format("{}\n", printable(report.model));
  out += fmt::format("  A  {}\n  B  {}\n", printable(side_text(report.a)), printable(side_text(report.b)));
  if (!report.inputs.empty()) out += fmt::format("  on {}\n", printable(inputs_text(report)));
  out += rule_text(report) + "\n\n" + plain_table(table_of(report)) + '\n';
  out += printable(verdict(report)) + '\n';
  const ArrayComparison* array = in_detail(report.result);
  if (array != nullptr)
    for (const std::string& line : details(*array, report)) out += "  " + printable(line) + '\n';
  for (const std::string& line : notes(report)) out += "  " + printable(line) + '\n';
  if (array != nullptr && array->values.problem.empty()) out += '\n' + plain_table(histogram_table(array->histogram));
  return out;
}

std::string comparison_markdown(const RunComparisonReport& report) {
  std::string out = fmt::format("## {}\n\n", markdown_text(report.model));
  out += fmt::format("- A: {}\n- B: {}\n", markdown_text(side_text(report.a)), markdown_text(side_text(report.b)));
  if (!report.inputs.empty()) out += fmt::format("- inputs: {}\n", markdown_text(inputs_text(report)));
  out += fmt::format("- {}\n\n{}\n**{}**\n", markdown_text(rule_text(report)), markdown_table(table_of(report)),
                     markdown_text(verdict(report)));
  const ArrayComparison* array = in_detail(report.result);
  std::vector<std::string> lines = array == nullptr ? std::vector<std::string>() : details(*array, report);
  for (std::string& note : notes(report)) lines.push_back(std::move(note));
  if (!lines.empty()) out += '\n';
  for (const std::string& line : lines) out += fmt::format("- {}\n", markdown_text(line));
  if (array != nullptr && array->values.problem.empty())
    out += '\n' + markdown_table(histogram_table(array->histogram));
  return out;
}

std::string comparison_json(const RunComparisonReport& report) {
  Json json;
  json["schema"] = "attn.compare/1";
  json["kind"] = "run";
  json["model"] = json_text(report.model);
  json["equal"] = report.result.equal();
  const ArrayComparison* first = report.result.first();
  json["first_difference"] = first == nullptr ? Json() : json_text(first->name);
  if (report.quantized)
    json["quantized"] = {{"bits", report.quantized->bits},
                         {"float_bytes", report.quantized->float_bytes},
                         {"bytes", report.quantized->bytes}};
  json["a"] = side_json(report.a);
  json["b"] = side_json(report.b);
  json["inputs"] = Json::array();
  for (const InputReport& input : report.inputs) json["inputs"].push_back(input_json(input));
  json["seed"] = report.seed;
  const run::Tolerance needed = needed_by_all(report.result);
  json["tolerance"] = {{"rtol", report.tolerance.rtol},
                       {"atol", report.tolerance.atol},
                       {"atol_of_rms", report.tolerance.of_rms},
                       {"reason", json_text(report.tolerance_reason)},
                       {"minimum_rtol", needed.rtol},
                       {"minimum_atol", needed.atol}};
  json["arrays"] = Json::array();
  for (const ArrayComparison& array : report.result.arrays) json["arrays"].push_back(array_json(array));
  json["parts_not_compared"] = names_json(report.result.finer);
  json["layers_not_in_file"] = names_json(report.result.absent);
  if (report.weights) {
    Json differing = Json::array();
    for (const run::PairedArray& pair : report.weights->both)
      if (!pair.equal) differing.push_back(json_text(pair.name));
    json["weights_that_differ"] = std::move(differing);
  }
  return json_document(json);
}

}  // namespace

std::string tolerance_reason(DType dtype) {
  const std::string_view digits = dtype == DType::float64    ? "16"
                                  : dtype == DType::float16  ? "3 to 4"
                                  : dtype == DType::bfloat16 ? "2 to 3"
                                                             : "7";
  return fmt::format("usual for {}, which keeps {} digits", name_of(dtype), digits);
}

std::string render(Format format, const RunComparisonReport& report) {
  switch (format) {
    case Format::table:
      return comparison_text(report);
    case Format::json:
      return comparison_json(report);
    case Format::markdown:
      return comparison_markdown(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
