#include "ranks/parallel_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"
#include "attn/open/model.h"
#include "attn/plan/passes.h"

namespace attn::cli {
namespace {

std::int64_t bytes_of_weights(const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::WeightSpec& spec : graph.weights) bytes += spec.shape.size() * bytes_of(spec.dtype);
  return bytes;
}

/// Returns the numbers of ranks for the predicted speed-up: powers of two up to 16, and the requested number.
std::set<int> numbers_of_ranks(int asked) {
  std::set<int> numbers{2, 4, 8, 16};
  if (asked > 1) numbers.insert(asked);
  return numbers;
}

}  // namespace

parallel::Cluster cluster_named(const std::string& word) {
  if (!word.ends_with(".json")) return parallel::cluster_of(word);
  const io::Bytes bytes = io::read_file(word);
  const std::string text(bytes.text());
  const nlohmann::json json = io::parse_json(text, word);
  if (!json.is_object() || !json.contains("schema")) return parallel::cluster_of(text);
  const auto links = json.find("parallel");
  if (json["schema"] != "attn.doctor/1" || links == json.end() || !links->is_object() || !links->contains("cluster"))
    throw bad_input("{}: not the description of a cluster; create one with mpirun -np N attn doctor --parallel --json",
                    printable(word));
  return parallel::cluster_of((*links)["cluster"].dump());
}

namespace {

/// Replaces the cost of one group by the cost of all groups.
void add_groups(report::ParallelPlanReport& report, const graph::Graph& model, const parallel::GroupRows& rows,
                const ParallelWord& word, std::int64_t weights) {
  const int ranks = *word.ranks;
  report.data = word.groups;
  report.ranks = ranks * word.groups;
  const parallel::Prediction pass = report.prediction;
  report.prediction = parallel::predict(model, word.kind, ranks, word.groups, report.cluster);
  for (const parallel::CollectiveCall& gather : parallel::gathers(model, rows)) {
    report.meetings.push_back(gather);
    auto cost = std::ranges::find(report.collectives, gather.collective, &parallel::CollectiveCost::collective);
    if (cost == report.collectives.end()) cost = report.collectives.insert(cost, {gather.collective, 0, 0, 0});
    ++cost->count;
    cost->bytes += gather.bytes;
    cost->seconds += parallel::seconds_across(report.cluster, gather, ranks, word.groups);
  }
  report.speed_ups.clear();
  for (const int groups : numbers_of_ranks(word.groups)) {
    try {
      report.speed_ups.emplace_back(ranks * groups,
                                    parallel::predict(model, word.kind, ranks, groups, report.cluster).speed_up());
    } catch (const Error& error) {  // too few rows for this number of groups
      if (error.code() != ExitCode::usage) throw;
    }
  }
  const double share = static_cast<double>(report.local_weight_bytes) / static_cast<double>(report.weight_bytes);
  const auto local = static_cast<std::int64_t>(static_cast<double>(weights) * share);
  report.efficiencies.clear();
  for (const int groups : {2, 8, 16, 64, 256})
    report.efficiencies.emplace_back(
        ranks * groups, parallel::training_efficiency(pass, weights, local, ranks, groups, report.cluster));
}

}  // namespace

report::ParallelPlanReport parallel_plan(const open::LoadedModel& loaded, const keras::LowerOptions& lower,
                                         const ParallelWord& word, const parallel::Cluster& cluster) {
  if (!word.ranks)
    throw bad_usage("--parallel {}: the number of ranks is missing, as in {}=8", name_of(word.kind),
                    name_of(word.kind));
  const graph::Graph model = plan::simplify_einsum(loaded.model.lower(lower));
  std::optional<parallel::GroupRows> rows;
  if (word.groups > 1) rows = parallel::rows_of_group(model, word.groups - 1, word.groups);
  const graph::Graph& graph = rows ? rows->part.graph : model;
  report::ParallelPlanReport report;
  report.model = loaded.name;
  report.kind = name_of(word.kind);
  report.ranks = *word.ranks;
  report.cluster = cluster;
  report.weight_bytes = report.local_weight_bytes = bytes_of_weights(graph);
  report.prediction = parallel::predict(graph, word.kind, report.ranks, cluster);
  if (report.ranks > 1) {
    const parallel::Parallel last = parallel::parallelize(graph, word.kind, report.ranks - 1, report.ranks);
    report.split = last.shared;
    report.collectives = parallel::collective_costs(last.graph, cluster, report.ranks);
    report.meetings = parallel::collective_calls(last.graph);
    report.local_weight_bytes = bytes_of_weights(last.graph);
  }
  for (const int ranks : numbers_of_ranks(report.ranks)) {
    try {
      report.speed_ups.emplace_back(ranks, parallel::predict(graph, word.kind, ranks, cluster).speed_up());
    } catch (const Error& error) {  // the model cannot be split over this number of ranks
      if (error.code() != ExitCode::usage) throw;
    }
  }
  std::int64_t weights = 0;
  for (const graph::WeightSpec& spec : graph.weights) weights += spec.trainable ? spec.shape.size() : 0;
  for (const int ranks : {2, 8, 16, 64, 256, 1024})
    report.efficiencies.emplace_back(ranks,
                                     parallel::training_efficiency(report.prediction.alone, weights, ranks, cluster));
  if (rows) add_groups(report, model, *rows, word, weights);
  return report;
}

}  // namespace attn::cli
