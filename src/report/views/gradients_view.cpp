#include "attn/report/gradients_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/run_view.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "pictures/gradients_svg.h"

namespace attn::report {

using run::GradientCheckRow;
using run::GradientMark;
using run::GradientRow;

bool GradientsReport::finite() const {
  return std::ranges::none_of(rows, [](const GradientRow& row) { return row.non_finite > 0; }) &&
         !(value != value || value - value != 0.0);
}

bool GradientsReport::checked() const {
  return !check || std::ranges::all_of(*check, [](const GradientCheckRow& row) { return row.pass; });
}

namespace {

constexpr double kNoRatio = std::numeric_limits<double>::quiet_NaN();

/// Returns √Σg²/√Σx², the size of the gradient relative to the weights.
double ratio_of(const GradientRow& row) { return row.value_norm > 0.0 ? row.norm / row.value_norm : kNoRatio; }

/// Returns √Σ(Δx)²/√Σx², the size of the update relative to the weights.
double update_of(const GradientRow& row) {
  return row.update_norm && row.value_norm > 0.0 ? *row.update_norm / row.value_norm : kNoRatio;
}

/// Returns whether the size of a weight update is known.
bool has_updates(const GradientsReport& report) {
  return std::ranges::any_of(report.rows, [](const GradientRow& row) { return row.update_norm.has_value(); });
}

/// Returns the norm of the last row that has a gradient.
double last_norm(const GradientsReport& report) {
  double norm = 0.0;
  for (const GradientRow& row : report.rows)
    if (row.norm > 0.0 && !row.name.starts_with("input:")) norm = row.norm;
  return norm;
}

double flow_of(const GradientRow& row, double last) { return last > 0.0 ? row.norm / last : kNoRatio; }

std::string three_digits(double value) { return value != value ? "-" : fmt::format("{:.3g}", value); }

std::string share_of_zeros(const GradientRow& row) {
  if (row.elements == 0) return "-";
  return percent(static_cast<double>(row.zeros) / static_cast<double>(row.elements));
}

std::string row_header(const std::string& by) { return by == "weight" ? "Weight" : by == "block" ? "Block" : "Layer"; }

std::string gradients_table(const GradientsReport& report) {
  const bool updates = has_updates(report);
  Table table{{{row_header(report.by)},
               {report.by == "weight" ? "Shape" : "Params", Align::right},
               {"Norm", Align::right},
               {"RMS", Align::right},
               {"Max", Align::right},
               {"Zeros", Align::right},
               {updates ? "Update/weight" : "Grad/weight", Align::right},
               {"Flow", Align::right},
               {"Note"}},
              {}};
  const double last = last_norm(report);
  for (const std::size_t i : report.order) {
    const GradientRow& row = report.rows[i];
    table.rows.push_back({row.name, report.by == "weight" ? row.shape.str() : with_commas(row.elements),
                          three_digits(row.norm), three_digits(row.rms()), three_digits(row.largest),
                          share_of_zeros(row), three_digits(updates ? update_of(row) : ratio_of(row)),
                          three_digits(flow_of(row, last)), std::string(run::name_of(row.mark))});
  }
  return plain_table(table);
}

std::string gradient_check_text(const GradientsReport& report) {
  Table table{{{"Checked"},
               {"Directions", Align::right},
               {"At a kink", Align::right},
               {"Measured", Align::right},
               {"Computed", Align::right},
               {"Error", Align::right},
               {"Result"}},
              {}};
  for (const GradientCheckRow& row : *report.check)
    table.rows.push_back({row.name, fmt::format("{}", row.directions), fmt::format("{}", row.skipped),
                          number(row.measured), number(row.computed), three_digits(row.worst),
                          row.pass ? "agrees" : "differs"});
  return plain_table(table) + fmt::format("{} central differences in float64 (tolerance {})\n",
                                          report.checked() ? "Agrees with" : "Differs from",
                                          number(report.check_tolerance));
}

/// Returns the rows with the largest and the smallest root mean square, of those that the loss depends on.
std::pair<const GradientRow*, const GradientRow*> extremes(const GradientsReport& report) {
  const GradientRow *largest = nullptr, *smallest = nullptr;
  for (const GradientRow& row : report.rows) {
    if (row.connected == 0 || row.name.starts_with("input:")) continue;
    if (largest == nullptr || row.rms() > largest->rms()) largest = &row;
    if (smallest == nullptr || row.rms() < smallest->rms()) smallest = &row;
  }
  return {largest, smallest};
}

std::string gradients_text(const GradientsReport& report) {
  std::string out = fmt::format("{}: {}, seed {}, {}\n", printable(report.setting.model), setting_text(report.setting),
                                report.seed, report.mode);
  out += weights_line(report.setting);
  for (const InputReport& input : report.inputs)
    out += fmt::format("  input {} {} {}: {}\n", printable(input.name), input.shape.str(), printable(input.dtype),
                       printable(input.source));
  out += '\n' + gradients_table(report) + '\n';
  if (report.terms.size() > 1)
    for (const auto& [name, value] : report.terms) out += fmt::format("  {}: {}\n", printable(name), number(value));
  if (report.compare) out += compare_text(*report.compare);
  if (report.check) out += gradient_check_text(report) + '\n';
  out += fmt::format("loss {} ({}), global norm {}", number(report.value), printable(report.loss),
                     three_digits(report.norm));
  if (const auto [largest, smallest] = extremes(report); largest != nullptr && smallest != largest)
    out += fmt::format(", largest {}, smallest {}", printable(largest->name), printable(smallest->name));
  return out + fmt::format(", {}\n", duration(report.seconds));
}

Json gradient_json(const GradientRow& row, double last) {
  Json json;
  json["name"] = json_text(row.name);
  json["shape"] = row.arrays == 1 ? json_shape(row.shape) : Json();
  json["arrays"] = row.arrays;
  json["connected"] = row.connected;
  json["elements"] = row.elements;
  json["norm"] = row.norm;
  json["rms"] = row.rms();
  json["max"] = row.largest;
  json["zeros"] = row.zeros;
  json["non_finite"] = row.non_finite;
  json["value_norm"] = row.value_norm;
  json["ratio"] = ratio_of(row);
  json["update_ratio"] = update_of(row);
  json["flow"] = flow_of(row, last);
  json["note"] = row.mark == GradientMark::none ? Json() : json_text(run::name_of(row.mark));
  return json;
}

std::string gradients_json(const GradientsReport& report) {
  Json json;
  json["schema"] = "attn.grad/1";
  json.update(setting_json(report.setting));
  json["seed"] = report.seed;
  json["mode"] = json_text(report.mode);
  json["loss"] = {{"name", json_text(report.loss)}, {"value", report.value}};
  json["loss"]["terms"] = Json::array();
  for (const auto& [name, value] : report.terms)
    json["loss"]["terms"].push_back({{"name", json_text(name)}, {"value", value}});
  json["inputs"] = Json::array();
  for (const InputReport& input : report.inputs) json["inputs"].push_back(input_json(input));
  json["by"] = report.by;
  json["gradients"] = Json::array();
  const double last = last_norm(report);
  for (const std::size_t i : report.order) json["gradients"].push_back(gradient_json(report.rows[i], last));
  json["global_norm"] = report.norm;
  json["ms"] = report.seconds * 1000.0;
  if (report.compare) json["compare"] = compare_json(*report.compare);
  if (report.check) {
    json["check"] = {{"tolerance", report.check_tolerance}, {"pass", report.checked()}, {"rows", Json::array()}};
    for (const GradientCheckRow& row : *report.check)
      json["check"]["rows"].push_back({{"name", json_text(row.name)},
                                       {"directions", row.directions},
                                       {"skipped", row.skipped},
                                       {"measured", row.measured},
                                       {"computed", row.computed},
                                       {"error", row.worst},
                                       {"pass", row.pass}});
  }
  return json_document(json);
}

}  // namespace

std::string render(Format format, const GradientsReport& report) {
  switch (format) {
    case Format::table:
      return gradients_text(report);
    case Format::json:
      return gradients_json(report);
    case Format::svg:
      return gradients_svg(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
