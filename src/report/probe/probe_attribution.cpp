#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "views/grid_text.h"
#include "views/records.h"

namespace attn::report {
namespace {

using probe::AttributedPart;
using probe::Attribution;
using probe::Patched;
using probe::PatchedPlace;

constexpr std::size_t kShownAttributions = 12;

std::optional<double> finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Returns the share of the metric that an exact patch restores.
std::optional<double> share_restored(const Patched& patched, const PatchedPlace& place) {
  return place.value ? finite(patched.normalized(*place.value)) : std::nullopt;
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
  Json parts = Json::array(), all = Json::array();
  for (const AttributedPart& part : attribution.parts) {
    Json json = {{"part", part.part}, {"layer", json_or_null(part.layer)}, {"head", json_or_null(part.head)}};
    for (std::size_t t = 0; t < part.values.size(); ++t) {
      all.push_back(json);
      all.back().update({{"position", t}, {"value", part.values[t]}});
    }
    json["value"] = part.values[at];
    parts.push_back(std::move(json));
    if (part.layer)
      layers_grid(out.grids, part.head ? "heads" : "other parts")
          .set(fmt::format("layer {}", *part.layer),
               part.head ? fmt::format("head {}", *part.head) : part.part.substr(0, part.part.rfind('.')),
               part.values[at]);
  }
  out.rows = csv_rows(all, {"part", "layer", "head", "position", "value"});
  out.members = {{"metric", metric_json(attribution.metric)},
                 {"position", position},
                 {"parts", std::move(parts)},
                 {"sum", attribution.sum[at]},
                 {"logit", attribution.logit[at]},
                 {"logit_after_cap", attribution.after_cap[at]}};
  const auto order = largest(attribution.parts, kShownAttributions,
                             [&](const AttributedPart& part) { return std::abs(part.values[at]); });
  Table table{{{"Part"}, {"Value", Align::right}}, {}};
  for (const AttributedPart* part : order)
    table.rows.push_back({part->part + (part->head ? fmt::format(" head {}", *part->head) : ""),
                          fmt::format("{:+.4f}", part->values[at])});
  out.text = fmt::format("{} at position {}\n\n", metric_text(attribution.metric, word), position);
  out.text += grids_text(out.grids);
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
  const bool approximate = std::ranges::any_of(patched.places, [](const auto& place) { return !place.value; });
  const std::string meaning = approximate ? "estimated change" : patched.normalized(0.0) ? "share restored" : "metric";
  Json results = Json::array();
  for (const PatchedPlace& place : patched.places) {
    const std::optional<double> normalized = share_restored(patched, place);
    results.push_back({{"point", place.point},
                       {"layer", place.layer},
                       {"position", json_or_null(place.position)},
                       {"head", json_or_null(place.head)},
                       {"value", json_or_null(finite(place.value))},
                       {"normalized", json_or_null(normalized)},
                       {"estimate", json_or_null(finite(place.estimate))}});
    const bool both = place.head && place.position;
    layers_grid(out.grids, fmt::format("{}, {}", place.point.substr(0, place.point.rfind('.')), meaning))
        .set(both ? fmt::format("layer {} head {}", place.layer, *place.head) : fmt::format("layer {}", place.layer),
             place.position ? position_name(place, prompt, word) : fmt::format("head {}", *place.head),
             approximate  ? place.estimate.value_or(std::numeric_limits<double>::quiet_NaN())
             : normalized ? *normalized
                          : *place.value);
  }
  out.rows = csv_rows(results, {"point", "layer", "position", "head", "value", "normalized", "estimate"});
  out.members = {{"metric", metric_json(patched.metric)},
                 {"clean", patched.clean},
                 {"corrupt", patched.corrupt},
                 {"approximate", approximate},
                 {"results", std::move(results)}};
  const auto order = largest(patched.places, kShownAttributions, [&](const PatchedPlace& place) {
    return std::abs(place.value ? *place.value - patched.corrupt : place.estimate.value_or(0));
  });
  Table table{{{"Place"}, {"Metric", Align::right}, {"Restored", Align::right}, {"Estimated change", Align::right}},
              {}};
  for (const PatchedPlace* place : order) {
    const std::optional<double> normalized = share_restored(patched, *place);
    table.rows.push_back({place_name(*place, prompt, word), place->value ? fmt::format("{:.4f}", *place->value) : "-",
                          normalized ? fmt::format("{:.0f}%", 100 * *normalized) : "-",
                          place->estimate ? fmt::format("{:+.4f}", *place->estimate) : "-"});
  }
  out.text = fmt::format("metric: {}: clean {:.4f}, corrupted {:.4f}\n", metric_text(patched.metric, output_word),
                         patched.clean, patched.corrupt);
  if (approximate) out.text += "estimates of attribution patching are approximate\n";
  out.text += '\n' + grids_text(out.grids);
  out.text += fmt::format("the largest {} of {}\n\n", counted(std::ssize(order), "change"),
                          with_commas(std::ssize(patched.places))) +
              plain_table(table);
  return out;
}

}  // namespace attn::report
