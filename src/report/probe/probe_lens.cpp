#include <fmt/format.h>

#include <cmath>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "views/grid_text.h"
#include "views/records.h"

namespace attn::report {
namespace {

using probe::Lens;
using probe::LensCell;

/// The positions of a row of cells that fit into a terminal.
constexpr std::size_t kMostLensPositions = 8;

std::string probability_text(double log_prob) { return fmt::format("{:.0f}%", 100.0 * std::exp(log_prob)); }

Json lens_cell_json(const Lens& lens, std::size_t point, std::size_t position, const TokenWord& word) {
  const LensCell& cell = lens.cells[point][position];
  Json json = {{"point", lens.points[point]}, {"position", position}, {"top", Json::array()}};
  for (const probe::TokenProbability& token : cell.top)
    json["top"].push_back({{"id", token.token}, {"token", json_text(word(token.token))}, {"log_prob", token.log_prob}});
  json["entropy_nats"] = cell.entropy;
  json["kl_to_final"] = cell.kl_to_final;
  json["target"] = cell.target ? Json{{"id", cell.target->token},
                                      {"token", json_text(word(cell.target->token))},
                                      {"log_prob", cell.target->log_prob},
                                      {"rank", cell.target->rank}}
                               : Json();
  return json;
}

/// Returns the best tokens at the last position, one row for each point.
std::string last_position_text(const Lens& lens, const TokenWord& word) {
  Table table{{{"Point"}, {"Best tokens"}, {"Entropy", Align::right}, {"KL to final", Align::right}}, {}};
  for (std::size_t i = lens.points.size(); i-- > 0;) {
    const LensCell& cell = lens.cells[i].back();
    std::vector<std::string> best;
    for (const probe::TokenProbability& token : cell.top)
      best.push_back(fmt::format("{} {}", word(token.token), probability_text(token.log_prob)));
    table.rows.push_back({lens.points[i], join(best, "  "), fmt::format("{:.2f}", cell.entropy),
                          fmt::format("{:.2f}", cell.kl_to_final)});
  }
  return "the last position\n\n" + plain_table(table);
}

}  // namespace

ProbeFindings findings_of(const Lens& lens, const probe::Prompt& prompt, bool norm, const TokenWord& word) {
  ProbeFindings out;
  const std::size_t positions = lens.cells.front().size();
  out.members = {{"norm", norm}, {"points", lens.points}};
  Json cells = Json::array();
  for (std::size_t i = 0; i < lens.points.size(); ++i)
    for (std::size_t at = 0; at < positions; ++at) cells.push_back(lens_cell_json(lens, i, at, word));
  out.members.emplace_back("cells", std::move(cells));

  Json best_tokens = Json::array();
  Grid grid{"probability of the best token", "Point", {}, {}, {}, false};
  if (!norm) grid.title += ", without the final norm";
  for (std::size_t at = 0; at < positions; ++at)
    grid.columns.push_back(positions == 1 ? "class" : fmt::format("{} {}", at, word(prompt.ids[at])));
  for (std::size_t i = lens.points.size(); i-- > 0;) {
    grid.rows.push_back(lens.points[i]);
    grid.values.emplace_back();
    grid.words.emplace_back();
    for (std::size_t at = 0; at < positions; ++at) {
      const LensCell& cell = lens.cells[i][at];
      const probe::TokenProbability& best = cell.top.front();
      grid.values.back().push_back(std::exp(best.log_prob));
      grid.words.back().push_back(fmt::format("{} {}", word(best.token), probability_text(best.log_prob)));
      best_tokens.push_back({{"point", lens.points[i]},
                             {"position", at},
                             {"token", json_text(word(best.token))},
                             {"log_prob", best.log_prob},
                             {"entropy_nats", cell.entropy},
                             {"kl_to_final", cell.kl_to_final},
                             {"target", cell.target ? json_text(word(cell.target->token)) : Json()},
                             {"target_log_prob", cell.target ? Json(cell.target->log_prob) : Json()},
                             {"target_rank", cell.target ? Json(cell.target->rank) : Json()}});
    }
  }
  out.rows = csv_rows(best_tokens, {"point", "position", "token", "log_prob", "entropy_nats", "kl_to_final", "target",
                                    "target_log_prob", "target_rank"});
  if (!norm) out.text = "without the final norm\n\n";
  out.text += positions <= kMostLensPositions ? grid_text(grid) + '\n' : "";
  out.text += last_position_text(lens, word);
  out.grids.push_back(std::move(grid));
  return out;
}

}  // namespace attn::report
