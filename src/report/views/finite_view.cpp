#include "attn/report/finite_view.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "attn/base/text.h"
#include "attn/report/number.h"

namespace attn::report {
namespace {

using run::FiniteCheck;
using run::NonFinite;
using run::NonFiniteOutput;

std::string count_text(const NonFinite& array) {
  std::string out;
  if (array.nan_count > 0) out = with_commas(array.nan_count) + " NaN";
  if (array.inf_count > 0) out += (out.empty() ? "" : " and ") + with_commas(array.inf_count) + " Inf";
  return out;
}

/// Returns an array as text: "(2, 50, 64) float16, 12 NaN and 300 Inf of 6,400, first inf at [0, 3, 7]".
std::string array_text(const NonFinite& array) {
  return fmt::format("{} {}, {} of {}, first {} at [{}]", array.shape.str(), name_of(array.dtype), count_text(array),
                     with_commas(array.shape.size()), array.first_value, fmt::join(array.first_index, ", "));
}

std::string layer_text(const NonFiniteOutput& output) {
  std::string out = fmt::format("'{}' ({}", printable(output.array.name), printable(output.class_name));
  if (output.call > 0) out += fmt::format(", call {}", output.call + 1);
  if (output.output > 0) out += fmt::format(", output {}", output.output);
  return out + ")";
}

/// Returns the likely reason for the values; "" if unknown.
std::string_view range_text(const NonFiniteOutput& output) {
  if (!output.source || !output.weights.empty() || output.array.dtype != DType::float16) return "";
  if (output.array.inf_count > 0) return "left float16's range ±65504";
  return "may have exceeded float16's range of ±65504";
}

std::size_t applications(const FiniteCheck& check) {
  std::set<std::pair<std::string, int>> distinct;
  for (const NonFiniteOutput& output : check.outputs) distinct.emplace(output.array.name, output.call);
  return distinct.size();
}

Json array_json(const NonFinite& array) {
  Json json;
  json["name"] = json_text(array.name);
  json["dtype"] = json_text(name_of(array.dtype));
  json["shape"] = json_shape(array.shape);
  json["nan"] = array.nan_count;
  json["inf"] = array.inf_count;
  json["first_index"] = array.first_index;
  return json;
}

}  // namespace

std::string finite_text(const FiniteCheck& check) {
  if (check.finite())
    return check.checked == 1 ? "the one layer output is finite\n"
                              : fmt::format("all {} layer outputs are finite\n", with_commas(check.checked));
  std::string out;
  for (const NonFinite& input : check.inputs)
    out += fmt::format("the input '{}' contains NaN or Inf: {}\n", printable(input.name), array_text(input));
  std::size_t others = applications(check);
  if (const NonFiniteOutput* source = check.source()) {
    out += fmt::format("NaN or Inf appeared in {}: {}\n", layer_text(*source), array_text(source->array));
    for (const NonFinite& weight : source->weights)
      out += fmt::format("  its weight '{}' contains {}, first at [{}]\n", printable(weight.name), count_text(weight),
                         fmt::join(weight.first_index, ", "));
    if (const std::string_view range = range_text(*source); !range.empty()) out += fmt::format("  it {}\n", range);
    --others;
  }
  if (others == 0) return out;
  const bool has_source = check.source() != nullptr;
  out +=
      fmt::format("  {}{} {} NaN or Inf{}\n", with_commas(static_cast<std::int64_t>(others)), has_source ? " more" : "",
                  others == 1 ? "layer contains" : "layers contain", has_source ? "" : " because of it");
  return out;
}

std::string finite_problem(const FiniteCheck& check) {
  if (const NonFiniteOutput* source = check.source()) {
    const std::string_view range = range_text(*source);
    std::string why;
    if (!source->weights.empty())
      why = fmt::format(", whose weight '{}' contains some", printable(source->weights[0].name));
    if (!range.empty()) why = fmt::format(", which {}", range);
    return fmt::format("NaN or Inf appeared in {}{}", layer_text(*source), why);
  }
  if (!check.inputs.empty()) return fmt::format("the input '{}' contains NaN or Inf", printable(check.inputs[0].name));
  return fmt::format("{} returns NaN or Inf", layer_text(check.outputs.front()));
}

Json finite_json(const FiniteCheck& check) {
  Json list = Json::array();
  for (const NonFinite& input : check.inputs) {
    Json json = array_json(input);
    json["kind"] = "input";
    list.push_back(std::move(json));
  }
  for (const NonFiniteOutput& output : check.outputs) {
    Json json = array_json(output.array);
    json["kind"] = "layer";
    json["class_name"] = json_text(output.class_name);
    json["call"] = output.call;
    json["output"] = output.output;
    json["source"] = output.source;
    const std::string_view range = range_text(output);
    json["reason"] = range.empty() ? Json() : json_text(range);
    json["weights"] = Json::array();
    for (const NonFinite& weight : output.weights) json["weights"].push_back(array_json(weight));
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace attn::report
