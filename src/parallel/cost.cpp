#include "attn/parallel/cost.h"

#include <algorithm>
#include <optional>
#include <set>

#include "attn/base/error.h"

namespace attn::parallel {
namespace {

using communicators::Collective;
using graph::at;
using graph::Graph;
using graph::Node;
using graph::ValueId;

std::optional<Collective> collective_of(const graph::Op& op) {
  return std::visit(
      graph::Overloaded{[](const graph::AllReduce&) { return std::optional(Collective::all_reduce); },
                        [](const graph::AllGather&) { return std::optional(Collective::all_gather); },
                        [](const graph::ReduceScatter&) { return std::optional(Collective::reduce_scatter); },
                        [](const graph::Shift&) { return std::optional(Collective::shift); },
                        [](const auto&) { return std::optional<Collective>(); }},
      op);
}

std::int64_t bytes_of_value(const Graph& graph, ValueId id) {
  return graph.value(id).shape.size() * bytes_of(graph.value(id).dtype);
}

}  // namespace

std::vector<CollectiveCall> collective_calls(const Graph& graph) {
  std::vector<CollectiveCall> result;
  for (const Node& node : graph.nodes) {
    const auto collective = collective_of(node.op);
    if (!collective) continue;
    const ValueId whole = *collective == Collective::all_gather ? node.outputs[0] : node.inputs[0];
    result.push_back({*collective, bytes_of_value(graph, whole),
                      node.layer == graph::kNone ? "" : graph.layers[at(node.layer)].name});
  }
  return result;
}

std::vector<CollectiveCost> collective_costs(const Graph& graph, const Cluster& cluster, int ranks) {
  std::map<Collective, CollectiveCost> costs;
  for (const CollectiveCall& call : collective_calls(graph)) {
    CollectiveCost& cost = costs[call.collective];
    cost.collective = call.collective;
    ++cost.count;
    cost.bytes += call.bytes;
    cost.seconds += seconds_of(cluster, call.collective, call.bytes, ranks);
  }
  std::vector<CollectiveCost> result;
  for (const auto& [collective, cost] : costs) result.push_back(cost);
  return result;
}

double compute_seconds(const Graph& graph, const Cluster& cluster) {
  const std::vector<bool> fixed = graph::fixed_values(graph);
  double seconds = 0;
  for (const Node& node : graph.nodes) {
    if (collective_of(node.op) || fixed[at(node.outputs[0])]) continue;
    const double arithmetic = static_cast<double>(graph::flops(graph, node)) / (cluster.peak * cluster.share);
    std::set<ValueId> values(node.inputs.begin(), node.inputs.end());
    values.insert(node.outputs.begin(), node.outputs.end());
    if (std::holds_alternative<graph::Gather>(node.op)) values.erase(node.inputs[0]);
    // Only weights and constants count as memory traffic.
    std::int64_t bytes = 0;
    for (const ValueId id : values)
      if (fixed[at(id)]) bytes += bytes_of_value(graph, id);
    seconds += std::max(arithmetic, static_cast<double>(bytes) / cluster.memory_bw);
  }
  return seconds;
}

Prediction predict(const Graph& model, Kind kind, int ranks, const Cluster& cluster) {
  Prediction result;
  result.alone = compute_seconds(model, cluster);
  if (ranks == 1) {
    result.compute = result.alone;
    return result;
  }
  // The last rank gets the remainder, so it has the largest shard.
  const Parallel last = parallelize(model, kind, ranks - 1, ranks);
  result.compute = compute_seconds(last.graph, cluster);
  for (const CollectiveCost& cost : collective_costs(last.graph, cluster, ranks)) result.collective += cost.seconds;
  return result;
}

namespace {

/// Returns the cluster for collectives between groups, in which one of `ranks` neighboring ranks takes part.
Cluster between_groups(Cluster cluster, int ranks) {
  cluster.ranks_per_node = std::max(1, cluster.ranks_per_node / ranks);
  return cluster;
}

}  // namespace

std::vector<CollectiveCall> gathers(const Graph& model, const GroupRows& rows) {
  std::vector<CollectiveCall> result;
  for (std::size_t i = 0; i < model.outputs.size(); ++i)
    if (!rows.outputs[i].empty())
      result.push_back({Collective::all_gather, bytes_of_value(model, model.outputs[i].value), model.outputs[i].name});
  return result;
}

double seconds_across(const Cluster& cluster, const CollectiveCall& call, int ranks, int groups) {
  return seconds_of(between_groups(cluster, ranks), call.collective, call.bytes, groups);
}

Prediction predict(const Graph& model, Kind kind, int ranks, int groups, const Cluster& cluster) {
  if (groups == 1) return predict(model, kind, ranks, cluster);
  const GroupRows rows = rows_of_group(model, groups - 1, groups);  // the last group has the most rows
  Prediction result = predict(rows.part.graph, kind, ranks, cluster);
  result.alone = compute_seconds(model, cluster);
  for (const CollectiveCall& gather : gathers(model, rows))
    result.collective += seconds_across(cluster, gather, ranks, groups);
  return result;
}

double training_efficiency(const Prediction& pass, std::int64_t weights, std::int64_t local, int ranks, int groups,
                           const Cluster& cluster) {
  constexpr double kUpdateBytes = 28;  // bytes per weight: weight, gradient and two moments are read and written
  constexpr double kHidden = 1.6;  // in forward passes: four fifths of a backward pass, which lasts two forward passes
  const auto step = [&](double forward, std::int64_t numbers) {
    return 3 * forward + kUpdateBytes * static_cast<double>(numbers) / cluster.memory_bw;
  };
  const double reduce =
      seconds_of(between_groups(cluster, ranks), Collective::all_reduce, local * cluster.wire_bytes, groups);
  const double shared = step(pass.seconds(), local) + std::max(0.1 * reduce, reduce - kHidden * pass.seconds());
  return step(pass.alone, weights) / (ranks * shared);
}

double training_efficiency(double forward_seconds, std::int64_t weights, int ranks, const Cluster& cluster) {
  return training_efficiency({forward_seconds, forward_seconds, 0}, weights, weights, 1, ranks, cluster);
}

}  // namespace attn::parallel
