#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "grid_text.h"

namespace attn::report {
namespace {

using probe::HeadScores;

constexpr std::size_t kBestHeads = 3;

/// A score of heads, with its name.
struct Score {
  const char* name;
  double (*of)(const HeadScores&);
};
constexpr Score kScores[] = {{"previous", [](const HeadScores& head) { return head.previous.mean; }},
                             {"duplicate", [](const HeadScores& head) { return head.duplicate.mean; }},
                             {"induction", [](const HeadScores& head) { return head.induction.mean; }},
                             {"first", [](const HeadScores& head) { return head.first; }}};

Grid score_grid(const std::vector<HeadScores>& heads, const Score& score) {
  Grid out{fmt::format("{} token", score.name), "Layer", {}, {}, {}, false, {}};
  if (std::string(score.name) == "induction") out.title = "induction";
  for (const HeadScores& head : heads) {
    if (head.head == 0) {
      out.rows.push_back(fmt::format("layer {}", head.layer));
      out.values.emplace_back();
    }
    out.values.back().push_back(score.of(head));
    if (out.values.back().size() > out.columns.size()) out.columns.push_back(fmt::format("head {}", head.head));
  }
  for (std::vector<double>& row : out.values) row.resize(out.columns.size(), 0.0);
  return out;
}

}  // namespace

ProbeFindings findings_of(const probe::Rollout& rollout, std::size_t layer, const std::string& fuse,
                          const std::vector<probe::Id>& ids, const TokenWord& word) {
  ProbeFindings out;
  const auto& matrix = rollout.matrices[layer];
  out.members = {{"fuse", fuse}, {"layer", rollout.layers[layer]}, {"matrix", matrix}};
  Grid grid{fmt::format("rollout to layer {}, heads joined by {}; queries down, input positions across",
                        rollout.layers[layer], fuse),
            "Query",
            {},
            {},
            matrix,
            false,
            {}};
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::string name = fmt::format("{} {}", i, word(ids[i]));
    grid.rows.push_back(name);
    grid.columns.push_back(name);
  }
  out.text = grid_text(grid) + "\nAttention rollout ignores values, MLPs and norms.\n";
  out.grids.push_back(std::move(grid));
  out.rows = grid_rows(out.grids);
  return out;
}

ProbeFindings findings_of(const std::vector<HeadScores>& heads, double sink) {
  ProbeFindings out;
  Json json = Json::array();
  out.rows = {{{"layer"}, {"head"}, {"previous"}, {"duplicate"}, {"induction"}, {"first"}, {"sink"}}, {}};
  for (const HeadScores& head : heads) {
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
    out.rows.rows.push_back({std::to_string(head.layer), std::to_string(head.head), python_repr(head.previous.mean),
                             python_repr(head.duplicate.mean), python_repr(head.induction.mean),
                             python_repr(head.first), head.first > sink ? "true" : "false"});
  }
  out.members = {{"sink_above", sink}, {"heads", std::move(json)}};
  Table best{{{"Score"}, {"Heads with the most"}}, {}};
  for (const Score& score : kScores) {
    out.grids.push_back(score_grid(heads, score));
    std::vector<const HeadScores*> order;
    for (const HeadScores& head : heads) order.push_back(&head);
    std::ranges::stable_sort(order, [&](const auto* a, const auto* b) { return score.of(*a) > score.of(*b); });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(order.size(), kBestHeads); ++i)
      names.push_back(fmt::format("{}.{} {:.2f}", order[i]->layer, order[i]->head, score.of(*order[i])));
    best.rows.push_back({out.grids.back().title, join(names, "  ")});
  }
  for (const Grid& grid : out.grids) out.text += grid_text(grid) + '\n';
  const auto sinks = std::ranges::count_if(heads, [&](const HeadScores& head) { return head.first > sink; });
  out.text += plain_table(best) + fmt::format(
                                      "\nlayer.head and its score; attention sinks, heads with more than "
                                      "{2} of their attention on the first token: {0} of {1}\n",
                                      sinks, std::ssize(heads), sink);
  return out;
}

ProbeFindings findings_of(const std::vector<probe::OutlierLayer>& layers, const probe::OutlierOptions& options,
                          const probe::Prompt& prompt, const TokenWord& word) {
  ProbeFindings out;
  Json json = Json::array();
  out.rows = {{{"layer"}, {"value"}, {"position"}, {"token"}, {"dimension"}, {"ratio"}}, {}};
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
      const std::string token = word(prompt.ids[static_cast<std::size_t>(outlier.position)]);
      top.push_back({{"value", outlier.value},
                     {"position", outlier.position},
                     {"token", json_text(token)},
                     {"dimension", outlier.dimension},
                     {"ratio", outlier.ratio}});
      out.rows.rows.push_back({std::to_string(layer.layer), python_repr(outlier.value),
                               std::to_string(outlier.position), token, std::to_string(outlier.dimension),
                               python_repr(outlier.ratio)});
    }
    const probe::Outlier& first = layer.top.front();
    table.rows.push_back({std::to_string(layer.layer), number(layer.median), std::to_string(layer.count),
                          fmt::format("{:.2f}", first.value), fmt::format("{:.1f}", first.ratio),
                          fmt::format("position {} {}, dimension {}", first.position,
                                      word(prompt.ids[static_cast<std::size_t>(first.position)]), first.dimension)});
    json.push_back({{"layer", layer.layer}, {"median", layer.median}, {"count", layer.count}, {"top", std::move(top)}});
  }
  out.members = {{"min", options.least}, {"ratio", options.ratio}, {"layers", std::move(json)}};
  out.text = fmt::format("stream after each layer; massive: above {} and above {} times the median\n\n",
                         number(options.least), number(options.ratio)) +
             plain_table(table);
  return out;
}

}  // namespace attn::report
