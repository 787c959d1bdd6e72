#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "views/grid_text.h"
#include "views/records.h"

namespace attn::report {
namespace {

using probe::HeadScores;

constexpr std::size_t kBestHeads = 3;

/// A score of heads, with its title.
struct Score {
  const char* title;
  double (*of)(const HeadScores&);
};
constexpr Score kScores[] = {{"previous token", [](const HeadScores& head) { return head.previous.mean; }},
                             {"duplicate token", [](const HeadScores& head) { return head.duplicate.mean; }},
                             {"induction", [](const HeadScores& head) { return head.induction.mean; }},
                             {"first token", [](const HeadScores& head) { return head.first; }}};

}  // namespace

ProbeFindings findings_of(const probe::Rollout& rollout, std::size_t layer, const std::string& fuse,
                          const std::vector<probe::Id>& ids, const TokenWord& word) {
  ProbeFindings out;
  const auto& matrix = rollout.matrices[layer];
  out.members = {{"fuse", fuse}, {"layer", rollout.layers[layer]}, {"matrix", matrix}};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < matrix.size(); ++i) names.push_back(fmt::format("{} {}", i, word(ids[i])));
  const std::string title = fmt::format("rollout to layer {}, heads joined by {}; queries down, input positions across",
                                        rollout.layers[layer], fuse);
  const Grid grid{title, "Query", names, names, matrix, false};
  out.text = grid_text(grid) + "\nAttention rollout ignores values, MLPs and norms.\n";
  out.grids = {grid};
  out.rows = grid_rows(out.grids);
  return out;
}

ProbeFindings findings_of(const std::vector<HeadScores>& heads, double sink) {
  ProbeFindings out;
  Json json = Json::array();
  for (const HeadScores& head : heads)
    json.push_back({{"layer", head.layer},
                    {"head", head.head},
                    {"previous", head.previous.mean},
                    {"duplicate", head.duplicate.mean},
                    {"induction", head.induction.mean},
                    {"previous_share", head.previous.share},
                    {"duplicate_share", head.duplicate.share},
                    {"induction_share", head.induction.share},
                    {"first", head.first},
                    {"sink", head.first > sink}});
  out.rows = csv_rows(json, {"layer", "head", "previous", "duplicate", "induction", "first", "sink"});
  out.members = {{"sink_above", sink}, {"heads", std::move(json)}};
  Table best{{{"Score"}, {"Heads with the most"}}, {}};
  for (const Score& score : kScores) {
    Grid& grid = layers_grid(out.grids, score.title, false);
    for (const HeadScores& head : heads)
      grid.set(fmt::format("layer {}", head.layer), fmt::format("head {}", head.head), score.of(head));
    std::vector<std::string> names;
    for (const HeadScores* head : largest(heads, kBestHeads, score.of))
      names.push_back(fmt::format("{}.{} {:.2f}", head->layer, head->head, score.of(*head)));
    best.rows.push_back({score.title, join(names, "  ")});
  }
  const auto sinks = std::ranges::count_if(heads, [&](const HeadScores& head) { return head.first > sink; });
  out.text = grids_text(out.grids) + plain_table(best) +
             fmt::format(
                 "\nlayer.head and its score; attention sinks, heads with more than "
                 "{2} of their attention on the first token: {0} of {1}\n",
                 sinks, std::ssize(heads), sink);
  return out;
}

ProbeFindings findings_of(const std::vector<probe::OutlierLayer>& layers, const probe::OutlierOptions& options,
                          const probe::Prompt& prompt, const TokenWord& word) {
  ProbeFindings out;
  Json json = Json::array(), all = Json::array();
  Table table{{{"Layer", Align::right},
               {"Median", Align::right},
               {"Massive", Align::right},
               {"Largest", Align::right},
               {"Ratio", Align::right},
               {"At"}},
              {}};
  for (const probe::OutlierLayer& layer : layers) {
    Json top = Json::array();
    for (const probe::Outlier& outlier : layer.top) {
      top.push_back({{"value", outlier.value},
                     {"position", outlier.position},
                     {"token", json_text(word(prompt.ids[static_cast<std::size_t>(outlier.position)]))},
                     {"dimension", outlier.dimension},
                     {"ratio", outlier.ratio}});
      all.push_back(top.back());
      all.back()["layer"] = layer.layer;
    }
    const probe::Outlier& first = layer.top.front();
    table.rows.push_back({std::to_string(layer.layer), number(layer.median), std::to_string(layer.count),
                          fmt::format("{:.2f}", first.value), fmt::format("{:.1f}", first.ratio),
                          fmt::format("position {} {}, dimension {}", first.position,
                                      word(prompt.ids[static_cast<std::size_t>(first.position)]), first.dimension)});
    json.push_back({{"layer", layer.layer}, {"median", layer.median}, {"count", layer.count}, {"top", std::move(top)}});
  }
  out.rows = csv_rows(all, {"layer", "value", "position", "token", "dimension", "ratio"});
  out.members = {{"min", options.least}, {"ratio", options.ratio}, {"layers", std::move(json)}};
  out.text = fmt::format("stream after each layer; massive: above {} and above {} times the median\n\n",
                         number(options.least), number(options.ratio)) +
             plain_table(table);
  return out;
}

}  // namespace attn::report
