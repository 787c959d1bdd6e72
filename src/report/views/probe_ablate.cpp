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

using probe::Ablated;
using probe::AblatedPart;

constexpr std::size_t kShownParts = 10;

/// Returns the kind of a point: "z", "cross.z".
std::string kind_of_point(const std::string& point) { return point.substr(0, point.rfind('.')); }

std::vector<Grid> ablation_grids(const Ablated& ablated) {
  std::vector<Grid> out;
  const auto add = [&](const std::string& what, const auto& number_of) {
    for (const AblatedPart& part : ablated.parts) {
      const std::string title = fmt::format("change of the {} without {}", what, kind_of_point(part.point));
      auto grid = std::ranges::find(out, title, &Grid::title);
      if (grid == out.end()) {
        out.push_back({title, "Layer", {}, {}, {}, true, {}});
        grid = std::prev(out.end());
      }
      const std::string row = fmt::format("layer {}", part.layer);
      if (grid->rows.empty() || grid->rows.back() != row) {
        grid->rows.push_back(row);
        grid->values.emplace_back();
      }
      grid->values.back().push_back(number_of(part.change));
      if (grid->values.back().size() > grid->columns.size())
        grid->columns.push_back(part.head ? fmt::format("head {}", *part.head) : "change");
    }
  };
  if (ablated.baseline.loss)
    add("loss", [](const probe::Measured& change) { return *change.loss; });
  else
    add("metric", [](const probe::Measured& change) { return change.metric; });
  return out;
}

std::string part_name(const AblatedPart& part) {
  return part.head ? fmt::format("{} head {}", part.point, *part.head) : part.point;
}

}  // namespace

ProbeFindings findings_of(const Ablated& ablated, const std::string& with, const TokenWord& word) {
  ProbeFindings out;
  const auto loss_json = [](const std::optional<double>& loss) { return loss ? Json(*loss) : Json(); };
  out.members = {{"with", json_text(with)},
                 {"metric", metric_json(ablated.metric)},
                 {"baseline", {{"loss", loss_json(ablated.baseline.loss)}, {"metric", ablated.baseline.metric}}}};
  Json changes = Json::array();
  out.rows = {{{"point"}, {"layer"}, {"head"}, {"loss"}, {"kl"}, {"metric"}}, {}};
  for (const AblatedPart& part : ablated.parts) {
    changes.push_back({{"point", part.point},
                       {"layer", part.layer},
                       {"head", part.head ? Json(*part.head) : Json()},
                       {"loss", loss_json(part.change.loss)},
                       {"kl", part.change.kl},
                       {"metric", part.change.metric}});
    out.rows.rows.push_back({part.point, std::to_string(part.layer), part.head ? std::to_string(*part.head) : "",
                             part.change.loss ? python_repr(*part.change.loss) : "", python_repr(part.change.kl),
                             python_repr(part.change.metric)});
  }
  out.members.emplace_back("changes", std::move(changes));
  out.grids = ablation_grids(ablated);

  std::vector<const AblatedPart*> order;
  for (const AblatedPart& part : ablated.parts) order.push_back(&part);
  const auto size = [&](const AblatedPart* part) { return std::abs(part->change.loss.value_or(part->change.metric)); };
  std::ranges::stable_sort(order, [&](const auto* a, const auto* b) { return size(a) > size(b); });
  if (order.size() > kShownParts) order.resize(kShownParts);
  const bool has_loss = ablated.baseline.loss.has_value();
  Table table{{{"Without"}}, {}};
  if (has_loss) table.columns.push_back({"Loss", Align::right});
  table.columns.insert(table.columns.end(), {{"KL", Align::right}, {"Metric", Align::right}});
  for (const AblatedPart* part : order) {
    std::vector<std::string> row = {part_name(*part)};
    if (has_loss) row.push_back(fmt::format("{:+.4f}", *part->change.loss));
    row.push_back(fmt::format("{:.4f}", part->change.kl));
    row.push_back(fmt::format("{:+.4f}", part->change.metric));
    table.rows.push_back(std::move(row));
  }
  out.text = fmt::format("parts replaced by: {}\n", printable(with));
  if (has_loss) out.text += fmt::format("loss without ablation: {:.4f} nats\n", *ablated.baseline.loss);
  out.text += fmt::format("metric: {}, {:.4f} without ablation\n\n", metric_text(ablated.metric, word),
                          ablated.baseline.metric);
  for (const Grid& grid : out.grids) out.text += grid_text(grid) + '\n';
  out.text += std::ssize(order) == std::ssize(ablated.parts)
                  ? "all parts, largest change first\n\n"
                  : fmt::format("the {} of {} with the largest change\n\n", counted(std::ssize(order), "part"),
                                with_commas(std::ssize(ablated.parts)));
  out.text += plain_table(table);
  return out;
}

}  // namespace attn::report
