#include "heatmap_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/base/text.h"
#include "attn/report/setting.h"
#include "drawing/ramp.h"

namespace attn::report {
namespace {

using run::HeadMap;
using run::LayerMap;

std::int64_t cells_of(const HeatmapReport& report) {
  std::int64_t cells = 0;
  for (const LayerMap& layer : report.layers)
    cells += layer.rows * layer.columns * static_cast<std::int64_t>(layer.heads.size());
  return cells;
}

/// Encodes cells as the square root of their ratio to `largest`, so that small weights get finer levels.
template <typename Level>
void append_levels(std::string& out, const std::vector<float>& cells, float largest, float most) {
  for (const float cell : cells) {
    const float share = largest > 0 ? cell / largest : 0;
    const auto level = static_cast<Level>(std::lround(std::sqrt(std::max(0.0F, share)) * most));
    for (unsigned shift = 0; shift < 8 * sizeof(Level); shift += 8) out += static_cast<char>(level >> shift & 0xff);
  }
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json head_json(const HeadMap& head, float scale) {
  return {{"head", head.head},
          {"scale", scale},
          {"entropy", head.stats.entropy},
          {"distance", optional_number(head.stats.distance)},
          {"to_first", head.stats.to_first},
          {"to_self", optional_number(head.stats.to_self)},
          {"largest", head.stats.largest},
          {"query", head.stats.query},
          {"key", head.stats.key}};
}

/// Returns the initial scaling of a layer on a page: "row" if causal, "spread" if its heads are almost uniform,
/// otherwise "head".
std::string scaling_of(const LayerMap& layer) {
  const auto all = [&](auto&& holds) { return std::all_of(layer.heads.begin(), layer.heads.end(), holds); };
  if (all([&](const HeadMap& head) { return is_causal(layer, head); })) return "row";
  return all([&](const HeadMap& head) { return uniform_least(head).has_value(); }) ? "spread" : "head";
}

/// Returns the image patches that the keys of a layer stand for, after any class tokens; null if they are not patches.
Json grid_json(const HeatmapReport& report, const LayerMap& layer) {
  constexpr std::int64_t kMostTokens = 5;
  if (!report.image || layer.block != 1 || layer.queries != layer.keys) return nullptr;
  const auto [width, height] = std::pair(report.image->width, report.image->height);
  for (std::int64_t first = 0; first <= kMostTokens; ++first)
    for (std::int64_t size = 2; size <= std::min(width, height); ++size)
      if (width % size == 0 && height % size == 0 && width / size * (height / size) == layer.keys - first)
        return {{"rows", height / size}, {"columns", width / size}, {"first", first}};
  return nullptr;
}

}  // namespace

void add_heatmap(Page& page, const std::string& title, const HeatmapReport& report) {
  // Uses 16 bits if the page is then no larger than the limit for 8 bits.
  const bool fine = 2 * cells_of(report) <= kMostPageCells;
  std::string levels;
  Json layers = Json::array();
  for (const LayerMap& layer : report.layers) {
    Json heads = Json::array();
    for (const HeadMap& head : layer.heads) {
      const float largest = head.cells.empty() ? 0 : *std::max_element(head.cells.begin(), head.cells.end());
      if (fine) {
        append_levels<std::uint16_t>(levels, head.cells, largest, 65535);
      } else {
        append_levels<std::uint8_t>(levels, head.cells, largest, 255);
      }
      heads.push_back(head_json(head, largest));
    }
    layers.push_back({{"name", page_text(layer.name)},
                      {"index", layer.index},
                      {"queries", layer.queries},
                      {"keys", layer.keys},
                      {"block", layer.block},
                      {"rows", layer.rows},
                      {"columns", layer.columns},
                      {"scaling", scaling_of(layer)},
                      {"grid", grid_json(report, layer)},
                      {"heads", heads}});
  }
  Json labels = Json::object();
  for (const auto& [count, words] : report.labels) {
    Json& list = labels[std::to_string(count)] = Json::array();
    for (const std::string& word : words) list.push_back(page_text(word));
  }
  std::vector<std::string> notes = heatmap_notes(report);
  if (!fine) notes.emplace_back("Weights on this page are rounded to 255 levels: the large ones to 1%.");
  page.sections.push_back({{"kind", "heatmap"},
                           {"title", title},
                           {"notes", notes},
                           {"payload", page.payloads.size()},
                           {"bits", fine ? 16 : 8},
                           {"log_scale", report.log_scale},
                           {"ramps", {{"light", kLightRamp}, {"dark", kDarkRamp}}},
                           {"labels", labels},
                           {"layers", layers}});
  page.payloads.push_back(std::move(levels));
  if (!report.image) return;
  const std::string rgb(report.image->rgb.begin(), report.image->rgb.end());
  page.sections.back()["image"] = {
      {"width", report.image->width}, {"height", report.image->height}, {"payload", page.payloads.size()}};
  page.payloads.push_back(rgb);
}

std::vector<std::string> heatmap_notes(const HeatmapReport& report) {
  std::vector<std::string> out;
  if (report.items > 1)
    out.push_back(fmt::format("Item {} of the {} in the batch, counted from 0.", report.item, report.items));
  if (!report.layers.empty() && report.layers.front().block > 1) {
    const LayerMap& layer = report.layers.front();
    out.push_back(fmt::format(
        "Down-sampled: a cell is {0} queries by {0} keys and shows the mean of their weights ({1} × {2} weights in "
        "{3} × {4} cells). The figures of the heads are from all weights.",
        layer.block, with_commas(layer.queries), with_commas(layer.keys), with_commas(layer.rows),
        with_commas(layer.columns)));
  }
  if (const std::string padding = padding_note(report); !padding.empty()) out.push_back(padding + ".");
  return out;
}

std::string padding_note(const HeatmapReport& report) {
  const auto hides = std::ranges::find_if(report.layers, [](const LayerMap& layer) { return layer.hidden > 0; });
  if (hides == report.layers.end()) return "";
  return fmt::format("Averages exclude padding: the mask of {2} hides {0} of its {1} queries",
                     with_commas(hides->hidden), with_commas(hides->queries), printable(hides->name));
}

std::vector<std::string> heatmap_warnings(const HeatmapReport& report) {
  std::vector<std::string> out;
  for (const LayerMap& layer : report.layers) {
    if (layer.non_finite > 0)
      out.push_back(fmt::format("{}: {} weights are NaN or infinite, and count as 0", printable(layer.name),
                                with_commas(layer.non_finite)));
  }
  return out;
}

std::vector<std::string> heatmap_about(const HeatmapReport& report) {
  std::vector<std::string> out = {fmt::format("{}, seed {}", setting_text(report.setting), report.seed)};
  if (!report.setting.weights.empty()) out.push_back(fmt::format("weights: {}", printable(report.setting.weights)));
  for (const InputReport& input : report.inputs)
    out.push_back(fmt::format("input {} {} {}: {}", printable(input.name), input.shape.str(), printable(input.dtype),
                              printable(input.source)));
  return out;
}

std::string heatmap_html(const HeatmapReport& report) {
  Page page;
  page.title = fmt::format("{}: attention", report.setting.model);
  page.about = heatmap_about(report);
  page.warnings = heatmap_warnings(report);
  add_heatmap(page, "", report);
  add_provenance(page, report.provenance);
  return html(page);
}

}  // namespace attn::report
