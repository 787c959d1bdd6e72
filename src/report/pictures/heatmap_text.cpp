// Heatmaps for a terminal, and their statistics as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/base/text.h"
#include "attn/report/heatmap.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "drawing/ramp.h"
#include "heatmap_page.h"
#include "heatmap_picture.h"
#include "text/escape.h"
#include "views/records.h"

namespace attn::report {
namespace {

using run::HeadMap;
using run::LayerMap;

constexpr int kGap = 2;          // number of columns between maps
constexpr int kLargestMap = 64;  // maximum cells on a side of a single map
constexpr int kSmallMap = 16;    // maximum cells on a side of one of several maps
constexpr std::size_t kMostMaps = 32;

std::string optional_text(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "-";
}

Table heads_table(const HeatmapReport& report) {
  Table table{{{"Layer"},
               {"Head", Align::right},
               {"Entropy", Align::right},
               {"Distance", Align::right},
               {"To first", Align::right},
               {"To self", Align::right},
               {"Largest", Align::right},
               {"At query, key"}},
              {}};
  for (const LayerMap& layer : report.layers) {
    for (const HeadMap& head : layer.heads) {
      const run::HeadStats& stats = head.stats;
      table.rows.push_back({layer.name, std::to_string(head.head), measured(stats.entropy),
                            optional_text(stats.distance, measured), percent(stats.to_first),
                            optional_text(stats.to_self, percent), measured(stats.largest),
                            fmt::format("{}, {}", stats.query, stats.key)});
    }
  }
  return table;
}

/// Returns the keys that each head's queries attend to most, by label.
Table keys_table(const HeatmapReport& report) {
  Table table{{{"Layer"}, {"Head", Align::right}, {"Most attended keys, with their share"}}, {}};
  for (const LayerMap& layer : report.layers) {
    const auto labels = report.labels.find(layer.keys);
    if (labels == report.labels.end()) continue;
    for (const HeadMap& head : layer.heads) {
      std::vector<std::string> words;
      for (const auto& [key, share] : head.stats.top_keys)
        words.push_back(fmt::format("{} {}", printable(labels->second[static_cast<std::size_t>(key)]), percent(share)));
      table.rows.push_back({layer.name, std::to_string(head.head), join(words, ", ")});
    }
  }
  return table;
}

/// Returns the lines of one map, each with the same width in terminal columns.
std::vector<std::string> map_lines(const LayerMap& layer, const HeadMap& head, bool log_scale, Ink ink) {
  constexpr std::array<const char*, 5> kShades = {" ", "░", "▒", "▓", "█"};
  constexpr std::string_view kAscii = " .:-=+*#%@";
  const Shades shades(layer, head, log_scale);
  std::vector<std::string> out;
  for (std::int64_t row = 0; row < layer.rows; row += ink == Ink::color ? 2 : 1) {
    std::string line;
    for (std::int64_t column = 0; column < layer.columns; ++column) {
      const double shade = shades.at(row, column);
      if (ink == Ink::color) {
        // Grays 232 to 255 of the 256-color palette, from black to white.
        const double below = shades.at(row + 1, column);
        line += fmt::format("\x1b[38;5;{};48;5;{}m▀", 232 + std::lround(shade * 23), 232 + std::lround(below * 23));
      } else if (ink == Ink::shade) {
        const char* letter = kShades[static_cast<std::size_t>(std::lround(shade * (kShades.size() - 1)))];
        line += std::string(letter) + letter;
      } else {
        line.append(2, kAscii[static_cast<std::size_t>(std::lround(shade * static_cast<double>(kAscii.size() - 1)))]);
      }
    }
    if (ink == Ink::color) line += "\x1b[0m";
    out.push_back(std::move(line));
  }
  return out;
}

std::string preview(const HeatmapReport& report, const PreviewOptions& options) {
  const LayerMap& layer = report.layers.front();
  const int width = static_cast<int>(layer.columns) * (options.ink == Ink::color ? 1 : 2);
  const std::size_t shown = std::min(layer.heads.size(), kMostMaps);
  const auto room = static_cast<std::size_t>(std::max(width, 8));
  const std::size_t across =
      std::max<std::size_t>(1, (static_cast<std::size_t>(std::max(options.columns, 0)) + kGap) / (room + kGap));
  std::string out = fmt::format("{}, keys across, queries down", printable(layer.name));
  if (layer.block > 1) out += fmt::format("; a cell is {0} by {0} of them", layer.block);
  out += "; " + Shades(layer, layer.heads.front(), report.log_scale).words() + '\n';
  for (std::size_t first = 0; first < shown; first += across) {
    const std::size_t behind = std::min(shown, first + across);
    std::vector<std::string> lines(1);
    for (std::size_t i = first; i < behind; ++i) {
      std::string title = fmt::format("head {}", layer.heads[i].head);
      title.resize(room + kGap, ' ');
      lines.front() += title;
      const std::vector<std::string> map = map_lines(layer, layer.heads[i], report.log_scale, options.ink);
      lines.resize(map.size() + 1);
      for (std::size_t line = 0; line < map.size(); ++line)
        lines[line + 1] += map[line] + std::string(room - static_cast<std::size_t>(width) + kGap, ' ');
    }
    for (std::string& line : lines) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
  }
  if (shown < layer.heads.size())
    out += fmt::format("{} more {}; --head N shows one\n", layer.heads.size() - shown,
                       layer.heads.size() - shown == 1 ? "head" : "heads");
  return out;
}

std::string heatmap_text(const HeatmapReport& report, const PreviewOptions& options) {
  std::string out = printable(report.setting.model) + ": ";
  for (const std::string& line : heatmap_about(report)) out += line + "\n  ";
  out.resize(out.size() - 2);
  out += '\n' + plain_table(heads_table(report)) + '\n';
  std::int64_t keys = report.layers.front().keys;
  for (const LayerMap& layer : report.layers)
    if (layer.keys != keys) keys = 0;  // layers differ
  const std::string alike = keys == 0
                                ? "log2 of the keys: all equal"
                                : fmt::format("{}: all {} equal", measured(std::log2(static_cast<double>(keys))), keys);
  out += fmt::format("Means over queries; entropy in bits (0: a single key, {}), distance in positions\n", alike);
  if (report.items > 1)
    out += fmt::format("Item {} of the {} in the batch, counted from 0\n", report.item, report.items);
  if (const std::string padding = padding_note(report); !padding.empty()) out += padding + '\n';
  for (const std::string& line : heatmap_warnings(report)) out += line + '\n';
  if (!report.labels.empty()) out += '\n' + plain_table(keys_table(report));
  out += '\n' + preview(report, options);
  if (report.layers.size() > 1) {
    const std::size_t more = report.layers.size() - 1;
    out += fmt::format("{} more attention {}; --layer NAME or INDEX shows one, -o FILE.html all\n", more,
                       more == 1 ? "layer" : "layers");
  }
  return out;
}

std::string heatmap_json(const HeatmapReport& report) {
  Json json;
  json["schema"] = "attn.heatmap/1";
  json.update(setting_json(report.setting));
  json["seed"] = report.seed;
  json["item"] = report.item;
  json["items"] = report.items;
  json["layers"] = Json::array();
  for (const LayerMap& layer : report.layers) {
    Json heads = Json::array();
    for (const HeadMap& head : layer.heads) {
      const run::HeadStats& stats = head.stats;
      heads.push_back({{"head", head.head},
                       {"entropy_bits", stats.entropy},
                       {"distance", json_or_null(stats.distance)},
                       {"to_first", stats.to_first},
                       {"to_self", json_or_null(stats.to_self)},
                       {"largest", stats.largest},
                       {"largest_at", {stats.query, stats.key}},
                       {"attending_queries", stats.queries}});
    }
    json["layers"].push_back({{"name", json_text(layer.name)},
                              {"index", layer.index},
                              {"queries", layer.queries},
                              {"keys", layer.keys},
                              {"non_finite", layer.non_finite},
                              {"hidden_queries", layer.hidden},
                              {"heads", heads}});
  }
  return json_document(json);
}

}  // namespace

int preview_cells(int columns, std::size_t maps) {
  return maps == 1 ? std::clamp((columns - 1) / 2, 4, kLargestMap) : std::clamp(columns / 2, 4, kSmallMap);
}

std::string render(Format format, const HeatmapReport& report, const PreviewOptions& options) {
  switch (format) {
    case Format::table:
      return heatmap_text(report, options);
    case Format::json:
      return heatmap_json(report);
    case Format::html:
      return heatmap_html(report);
    case Format::svg:
      return heatmap_svg(report);
    case Format::png:
      return heatmap_png(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
