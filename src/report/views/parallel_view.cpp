#include "attn/report/parallel_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attn/base/text.h"
#include "attn/report/links_view.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

constexpr double kInMilliseconds = 1e3;

double computing(const RankReport& rank) { return std::max(0.0, rank.seconds - *rank.collective_seconds); }

Json number_or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

/// Returns sizes as text: "6 5 5", or "64 each of 8".
std::string sizes_text(const std::vector<Dim>& sizes) {
  if (sizes.size() > 1 && std::ranges::adjacent_find(sizes, std::ranges::not_equal_to()) == sizes.end())
    return fmt::format("{} each", sizes.front());
  return fmt::format("{}", fmt::join(sizes, " "));
}

/// Returns a line for the layers that are split in the same way.
std::string split_text(const std::vector<parallel::Shared>& split) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> layers;
  std::vector<std::pair<std::string, std::string>> order;
  for (const parallel::Shared& shared : split) {
    const std::pair key{shared.what, sizes_text(shared.sizes)};
    if (!layers.contains(key)) order.push_back(key);
    layers[key].push_back(printable(shared.layer));
  }
  std::string out;
  for (const auto& key : order) {
    const auto& names = layers[key];
    const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    out += fmt::format("  {} of {}{}: {}\n", key.first, names.front(), more, key.second);
  }
  return out;
}

Json split_json(const std::vector<parallel::Shared>& split) {
  Json json = Json::array();
  for (const parallel::Shared& shared : split)
    json.push_back({{"layer", json_text(shared.layer)},
                    {"op", json_text(shared.what)},
                    {"sizes", shared.sizes},
                    {"evenness", parallel::evenness(shared.sizes)}});
  return json;
}

}  // namespace

std::optional<double> imbalance(const ParallelReport& report) {
  double most = 0, sum = 0;
  for (const RankReport& rank : report.per_rank) {
    if (!rank.collective_seconds) return std::nullopt;
    most = std::max(most, computing(rank));
    sum += computing(rank);
  }
  return sum > 0 ? most * static_cast<double>(report.per_rank.size()) / sum - 1 : 0;
}

std::string parallel_text(const ParallelReport& report) {
  const std::string groups = report.data > 1 ? fmt::format(" in {} groups", report.data) : "";
  std::string out = fmt::format("{} parallel on {} ranks{}{}, {}\n", report.kind, report.ranks, groups,
                                report.launcher.empty() ? "" : " of " + report.launcher, report.library);
  out += split_text(report.split);
  for (const CollectiveReport& each : report.collectives)
    out += fmt::format("  {} {}: {}{}\n", with_commas(each.count), each.op, byte_size(each.bytes),
                       each.seconds ? " in " + duration(*each.seconds) : "");
  if (const auto share = imbalance(report)) out += fmt::format("  imbalance {}\n", percent(*share));
  return out;
}

Json parallel_json(const ParallelReport& report) {
  Json json;
  json["kind"] = report.kind;
  json["ranks"] = report.ranks;
  json["data"] = report.data;
  json["launcher"] = report.launcher.empty() ? Json(nullptr) : Json(report.launcher);
  json["library"] = report.library;
  json["split"] = split_json(report.split);
  json["collectives"] = Json::array();
  for (const CollectiveReport& each : report.collectives)
    json["collectives"].push_back({{"op", each.op},
                                   {"count", each.count},
                                   {"bytes", each.bytes},
                                   {"seconds", number_or_null(each.seconds)},
                                   {"predicted", number_or_null(each.predicted)}});
  json["imbalance"] = number_or_null(imbalance(report));
  json["per_rank"] = Json::array();
  for (const RankReport& rank : report.per_rank)
    json["per_rank"].push_back({{"node", json_text(rank.node)},
                                {"seconds", rank.seconds},
                                {"collective_seconds", number_or_null(rank.collective_seconds)},
                                {"peak_bytes", rank.peak_bytes},
                                {"threads", rank.threads}});
  return json;
}

namespace {

std::string plan_text(const ParallelPlanReport& report) {
  const parallel::Prediction& prediction = report.prediction;
  const bool pays = prediction.speed_up() > 1;
  std::string out =
      report.ranks == 1
          ? fmt::format("{}: a pass takes {} on one rank of {}\n", printable(report.model), duration(prediction.alone),
                        printable(report.cluster.name))
          : fmt::format("{}: on {} ranks of {} a pass takes {}, on one {}: {}\n", printable(report.model), report.ranks,
                        printable(report.cluster.name), duration(prediction.seconds()), duration(prediction.alone),
                        pays ? fmt::format("{:.2f} times as fast", prediction.speed_up()) : "one rank is faster");
  if (report.ranks > 1) {
    out += fmt::format("\nSplit by {}:\n{}",
                       report.data > 1 ? fmt::format("{} in each of {} data-parallel groups of {} ranks", report.kind,
                                                     report.data, report.ranks / report.data)
                                       : report.kind,
                       split_text(report.split));
    out += fmt::format("  weights of a rank: {} of {}\n\n", byte_size(report.local_weight_bytes),
                       byte_size(report.weight_bytes));
    Table table{{{"Collective"}, {"Count", Align::right}, {"Bytes", Align::right}, {"Predicted", Align::right}}, {}};
    for (const parallel::CollectiveCost& cost : report.collectives)
      table.rows.push_back({std::string(communicators::name_of(cost.collective)), with_commas(cost.count),
                            byte_size(cost.bytes), duration(cost.seconds)});
    out += plain_table(table);
    out += fmt::format("\ncompute {}, collectives {}\n", duration(prediction.compute), duration(prediction.collective));
  }
  const auto row = [](const std::vector<std::pair<int, double>>& values) {
    std::vector<std::string> parts;
    for (const auto& [ranks, value] : values) parts.push_back(fmt::format("{}: {:.2f}", ranks, value));
    return join(parts, "  ");
  };
  if (!report.speed_ups.empty()) out += fmt::format("\nSpeed-up of a pass by ranks:  {}\n", row(report.speed_ups));
  if (!report.efficiencies.empty())
    out += fmt::format("Efficiency of training, with the same rows for each rank:  {}\n", row(report.efficiencies));
  return out;
}

std::string plan_json(const ParallelPlanReport& report) {
  Json json;
  json["schema"] = "attn.parallel/1";
  json["model"] = json_text(report.model);
  json["kind"] = report.kind;
  json["ranks"] = report.ranks;
  json["data"] = report.data;
  json["cluster"] = cluster_json(report.cluster);
  json["split"] = split_json(report.split);
  json["weight_bytes"] = report.weight_bytes;
  json["local_weight_bytes"] = report.local_weight_bytes;
  json["collectives"] = Json::array();
  for (const parallel::CollectiveCost& cost : report.collectives)
    json["collectives"].push_back({{"op", communicators::name_of(cost.collective)},
                                   {"count", cost.count},
                                   {"bytes", cost.bytes},
                                   {"predicted", cost.seconds}});
  json["meetings"] = Json::array();
  for (const parallel::CollectiveCall& call : report.meetings)
    json["meetings"].push_back(
        {{"op", communicators::name_of(call.collective)}, {"bytes", call.bytes}, {"layer", json_text(call.layer)}});
  json["ms"] = {{"alone", report.prediction.alone * kInMilliseconds},
                {"compute", report.prediction.compute * kInMilliseconds},
                {"collectives", report.prediction.collective * kInMilliseconds}};
  json["speed_up"] = report.prediction.speed_up();
  const auto rows = [](const std::vector<std::pair<int, double>>& values, const char* name) {
    Json list = Json::array();
    for (const auto& [ranks, value] : values) list.push_back({{"ranks", ranks}, {name, value}});
    return list;
  };
  json["speed_ups"] = rows(report.speed_ups, "speed_up");
  json["training"] = rows(report.efficiencies, "efficiency");
  return json_document(json);
}

}  // namespace

std::string render(Format format, const ParallelPlanReport& report) {
  switch (format) {
    case Format::table:
      return plan_text(report);
    case Format::json:
      return plan_json(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
