#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "grid_text.h"

namespace attn::report {
namespace {

using probe::AttributedPart;
using probe::Attribution;
using probe::Patched;
using probe::PatchedPlace;

constexpr std::size_t kShownAttributions = 12;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Returns the grid of a title, which is added if it is not there.
Grid& grid_titled(std::vector<Grid>& grids, const std::string& title) {
  const auto found = std::ranges::find(grids, title, &Grid::title);
  if (found != grids.end()) return *found;
  grids.push_back({title, "Layer", {}, {}, {}, true, {}});
  return grids.back();
}

/// Sets a cell, and adds its row and column if they are not there.
void set_cell(Grid& grid, const std::string& row, const std::string& column, double value) {
  const auto index = [](std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.push_back(name);
    return names.size() - 1;
  };
  const std::size_t y = index(grid.rows, row), x = index(grid.columns, column);
  grid.values.resize(grid.rows.size());
  for (std::vector<double>& values : grid.values) values.resize(grid.columns.size(), kNoNumber);
  grid.values[y][x] = value;
}

std::string attributed_name(const AttributedPart& part) {
  return part.head ? fmt::format("{} head {}", part.part, *part.head) : part.part;
}

/// Returns the share of the metric that an exact patch restores; NaN if it is unknown.
double share_restored(const Patched& patched, const PatchedPlace& place) {
  if (!place.value) return kNoNumber;
  return patched.normalized(*place.value).value_or(kNoNumber);
}

/// Returns "2 the": a position with its token, which is one of the encoder for a point there.
std::string position_name(const PatchedPlace& place, const probe::Prompt& prompt, const TokenWord& word) {
  const std::vector<probe::Id>& ids = place.point.starts_with("encoder.") ? prompt.encoder : prompt.ids;
  const auto at = static_cast<std::size_t>(place.position.value_or(0));
  return at < ids.size() ? fmt::format("{} {}", at, word(ids[at])) : std::to_string(at);
}

std::string place_name(const PatchedPlace& place, const probe::Prompt& prompt, const TokenWord& word) {
  std::string out = place.point;
  if (place.head) out += fmt::format(" head {}", *place.head);
  if (place.position) out += " position " + position_name(place, prompt, word);
  return out;
}

}  // namespace

ProbeFindings findings_of(const Attribution& attribution, std::int64_t position, const TokenWord& word) {
  ProbeFindings out;
  const auto at = static_cast<std::size_t>(position);
  Json parts = Json::array();
  out.rows = {{{"part"}, {"layer"}, {"head"}, {"position"}, {"value"}}, {}};
  for (const AttributedPart& part : attribution.parts) {
    parts.push_back({{"part", part.part},
                     {"layer", part.layer ? Json(*part.layer) : Json()},
                     {"head", part.head ? Json(*part.head) : Json()},
                     {"value", part.values[at]}});
    for (std::size_t t = 0; t < part.values.size(); ++t)
      out.rows.rows.push_back({part.part, part.layer ? std::to_string(*part.layer) : "",
                               part.head ? std::to_string(*part.head) : "", std::to_string(t),
                               python_repr(part.values[t])});
    if (part.head)
      set_cell(grid_titled(out.grids, "heads"), fmt::format("layer {}", *part.layer),
               fmt::format("head {}", *part.head), part.values[at]);
    else if (part.layer)
      set_cell(grid_titled(out.grids, "other parts"), fmt::format("layer {}", *part.layer),
               part.part.substr(0, part.part.rfind('.')), part.values[at]);
  }
  out.members = {{"metric", metric_json(attribution.metric)},
                 {"position", position},
                 {"parts", std::move(parts)},
                 {"sum", attribution.sum[at]},
                 {"logit", attribution.logit[at]},
                 {"logit_after_cap", attribution.after_cap[at]}};
  std::vector<const AttributedPart*> order;
  for (const AttributedPart& part : attribution.parts) order.push_back(&part);
  std::ranges::stable_sort(
      order, [&](const auto* a, const auto* b) { return std::abs(a->values[at]) > std::abs(b->values[at]); });
  if (order.size() > kShownAttributions) order.resize(kShownAttributions);
  Table table{{{"Part"}, {"Value", Align::right}}, {}};
  for (const AttributedPart* part : order)
    table.rows.push_back({attributed_name(*part), fmt::format("{:+.4f}", part->values[at])});
  out.text = fmt::format("{} at position {}\n\n", metric_text(attribution.metric, word), position);
  for (const Grid& grid : out.grids) out.text += grid_text(grid) + '\n';
  out.text +=
      fmt::format("the largest {} of {}\n\n", counted(std::ssize(order), "part"),
                  with_commas(std::ssize(attribution.parts))) +
      plain_table(table) +
      fmt::format("\nsum of all parts {:.4f}, the model's logit {:.4f}", attribution.sum[at], attribution.logit[at]);
  if (attribution.logit[at] != attribution.after_cap[at])
    out.text += fmt::format(", {:.4f} after the soft cap", attribution.after_cap[at]);
  out.text += '\n';
  return out;
}

ProbeFindings findings_of(const Patched& patched, const probe::Prompt& prompt, const TokenWord& word,
                          const TokenWord& output_word) {
  ProbeFindings out;
  const auto json_number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  const bool approximate = std::ranges::any_of(patched.places, [](const auto& place) { return !place.value; });
  Json results = Json::array();
  out.rows = {{{"point"}, {"layer"}, {"position"}, {"head"}, {"value"}, {"normalized"}, {"estimate"}}, {}};
  for (const PatchedPlace& place : patched.places) {
    const double normalized = share_restored(patched, place);
    results.push_back({{"point", place.point},
                       {"layer", place.layer},
                       {"position", place.position ? Json(*place.position) : Json()},
                       {"head", place.head ? Json(*place.head) : Json()},
                       {"value", json_number(place.value)},
                       {"normalized", std::isfinite(normalized) ? Json(normalized) : Json()},
                       {"estimate", json_number(place.estimate)}});
    const auto text = [](double value) { return std::isfinite(value) ? python_repr(value) : std::string(); };
    const auto index = [](const std::optional<std::int64_t>& value) {
      return value.has_value() ? std::to_string(value.value_or(0)) : std::string();
    };
    out.rows.rows.push_back({place.point, std::to_string(place.layer), index(place.position), index(place.head),
                             text(place.value.value_or(kNoNumber)), text(normalized),
                             text(place.estimate.value_or(kNoNumber))});
    const std::string kind = place.point.substr(0, place.point.rfind('.'));
    const double shown = approximate                 ? place.estimate.value_or(kNoNumber)
                         : std::isfinite(normalized) ? normalized
                                                     : *place.value;
    const std::string meaning = approximate               ? "estimated change"
                                : patched.normalized(0.0) ? "share restored"
                                                          : "metric";
    const bool both = place.head && place.position;
    set_cell(grid_titled(out.grids, fmt::format("{}, {}", kind, meaning)),
             both ? fmt::format("layer {} head {}", place.layer, *place.head) : fmt::format("layer {}", place.layer),
             place.position ? position_name(place, prompt, word) : fmt::format("head {}", *place.head), shown);
  }
  out.members = {{"metric", metric_json(patched.metric)},
                 {"clean", patched.clean},
                 {"corrupt", patched.corrupt},
                 {"approximate", approximate},
                 {"results", std::move(results)}};
  std::vector<const PatchedPlace*> order;
  for (const PatchedPlace& place : patched.places) order.push_back(&place);
  const auto size = [&](const PatchedPlace* place) {
    return std::abs(place->value ? *place->value - patched.corrupt : place->estimate.value_or(0));
  };
  std::ranges::stable_sort(order, [&](const auto* a, const auto* b) { return size(a) > size(b); });
  if (order.size() > kShownAttributions) order.resize(kShownAttributions);
  Table table{{{"Place"}, {"Metric", Align::right}, {"Restored", Align::right}, {"Estimated change", Align::right}},
              {}};
  for (const PatchedPlace* place : order) {
    const double normalized = share_restored(patched, *place);
    table.rows.push_back({place_name(*place, prompt, word), place->value ? fmt::format("{:.4f}", *place->value) : "-",
                          std::isfinite(normalized) ? fmt::format("{:.0f}%", 100 * normalized) : "-",
                          place->estimate ? fmt::format("{:+.4f}", *place->estimate) : "-"});
  }
  out.text = fmt::format("metric: {}: clean {:.4f}, corrupted {:.4f}\n", metric_text(patched.metric, output_word),
                         patched.clean, patched.corrupt);
  if (approximate) out.text += "estimates of attribution patching are approximate\n";
  out.text += '\n';
  for (const Grid& grid : out.grids) out.text += grid_text(grid) + '\n';
  out.text += fmt::format("the largest {} of {}\n\n", counted(std::ssize(order), "change"),
                          with_commas(std::ssize(patched.places))) +
              plain_table(table);
  return out;
}

}  // namespace attn::report
