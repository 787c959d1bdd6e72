#include <fmt/format.h>

#include <cmath>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "views/grid_text.h"
#include "views/records.h"

namespace attn::report {

using probe::AblatedPart;

ProbeFindings findings_of(const probe::Ablated& ablated, const std::string& with, const TokenWord& word) {
  constexpr std::size_t kShownParts = 10;
  ProbeFindings out;
  const bool has_loss = ablated.baseline.loss.has_value();
  const auto change_of = [](const AblatedPart& part) { return part.change.loss.value_or(part.change.metric); };
  Json changes = Json::array();
  for (const AblatedPart& part : ablated.parts) {
    changes.push_back({{"point", part.point},
                       {"layer", part.layer},
                       {"head", json_or_null(part.head)},
                       {"loss", json_or_null(part.change.loss)},
                       {"kl", part.change.kl},
                       {"metric", part.change.metric}});
    const std::string kind = part.point.substr(0, part.point.rfind('.'));  // "z", "cross.z"
    layers_grid(out.grids, fmt::format("change of the {} without {}", has_loss ? "loss" : "metric", kind))
        .set(fmt::format("layer {}", part.layer), part.head ? fmt::format("head {}", *part.head) : "change",
             change_of(part));
  }
  out.rows = csv_rows(changes, {"point", "layer", "head", "loss", "kl", "metric"});
  out.members = {{"with", json_text(with)},
                 {"metric", metric_json(ablated.metric)},
                 {"baseline", {{"loss", json_or_null(ablated.baseline.loss)}, {"metric", ablated.baseline.metric}}},
                 {"changes", std::move(changes)}};

  const auto order =
      largest(ablated.parts, kShownParts, [&](const AblatedPart& part) { return std::abs(change_of(part)); });
  Table table{{{"Without"}}, {}};
  if (has_loss) table.columns.push_back({"Loss", Align::right});
  table.columns.insert(table.columns.end(), {{"KL", Align::right}, {"Metric", Align::right}});
  for (const AblatedPart* part : order) {
    std::vector<std::string> row = {part->point + (part->head ? fmt::format(" head {}", *part->head) : "")};
    if (has_loss) row.push_back(fmt::format("{:+.4f}", *part->change.loss));
    row.push_back(fmt::format("{:.4f}", part->change.kl));
    row.push_back(fmt::format("{:+.4f}", part->change.metric));
    table.rows.push_back(std::move(row));
  }
  out.text = fmt::format("parts replaced by: {}\n", printable(with));
  if (has_loss) out.text += fmt::format("loss without ablation: {:.4f} nats\n", *ablated.baseline.loss);
  out.text += fmt::format("metric: {}, {:.4f} without ablation\n\n", metric_text(ablated.metric, word),
                          ablated.baseline.metric);
  out.text += grids_text(out.grids);
  out.text += std::ssize(order) == std::ssize(ablated.parts)
                  ? "all parts, largest change first\n\n"
                  : fmt::format("the {} of {} with the largest change\n\n", counted(std::ssize(order), "part"),
                                with_commas(std::ssize(ablated.parts)));
  out.text += plain_table(table);
  return out;
}

}  // namespace attn::report
