#include "attn/parallel/cluster.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"

namespace attn::parallel {
namespace {

using communicators::Collective;

/// Figures of vendors, and the fractions of them that large products are known to reach.
const std::array<Cluster, 2>& built_in() {
  static const std::array<Cluster, 2> kClusters = {
      // Nodes of 8 GPUs (NVLink), each GPU with a 400 Gb/s port, in bfloat16.
      Cluster{"h200-ndr", 8, 790e12, 0.55, 4.3e12, 2, {12e-6, 360e9}, {25e-6, 45e9}},
      // Nodes of 64 cores, each node one rank, with 100 Gb/s, in float32.
      Cluster{"cpu-100g", 1, 6e12, 0.6, 300e9, 4, {0, 1}, {15e-6, 11e9}},
  };
  return kClusters;
}

using nlohmann::json;

double number_at(const json& object, const char* key, const std::string& place, double least) {
  const auto found = object.find(key);
  if (found == object.end()) throw bad_input("{}: '{}' is missing", place, key);
  if (!found->is_number() || !(found->get<double>() >= least) || !std::isfinite(found->get<double>()))
    throw bad_input("{}: '{}' must be a number of at least {}", place, key, least);
  return found->get<double>();
}

void expect_keys(const json& object, const std::set<std::string>& known, const std::string& place) {
  if (!object.is_object()) throw bad_input("{}: must be an object", place);
  for (const auto& [key, value] : object.items()) {
    if (known.contains(key)) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    throw bad_input("{}: unknown key '{}'{}", place, printable(key), did_you_mean(key, names));
  }
}

Link link_at(const json& object, const char* key) {
  const auto found = object.find(key);
  const std::string place = fmt::format("cluster: {}", key);
  if (found == object.end()) throw bad_input("cluster: '{}' is missing", key);
  expect_keys(*found, {"alpha", "beta"}, place);
  return {number_at(*found, "alpha", place, 0), number_at(*found, "beta", place, 1)};
}

Cluster parsed(std::string_view text) {
  const json object = io::parse_json(text, "cluster");
  expect_keys(object, {"name", "ranks_per_node", "peak", "share", "memory_bw", "wire_bytes", "inside", "between"},
              "cluster");
  Cluster cluster;
  cluster.name = "as given";
  if (const auto name = object.find("name"); name != object.end() && name->is_string()) cluster.name = *name;
  constexpr double kMostRanks = 1 << 20;
  cluster.ranks_per_node = static_cast<int>(std::min(number_at(object, "ranks_per_node", "cluster", 1), kMostRanks));
  cluster.peak = number_at(object, "peak", "cluster", 1);
  cluster.share = object.contains("share") ? number_at(object, "share", "cluster", 1e-6) : cluster.share;
  cluster.memory_bw = number_at(object, "memory_bw", "cluster", 1);
  if (object.contains("wire_bytes"))
    cluster.wire_bytes = static_cast<int>(std::min(number_at(object, "wire_bytes", "cluster", 1), 8.0));
  cluster.between = link_at(object, "between");
  cluster.inside = object.contains("inside") ? link_at(object, "inside") : cluster.between;
  return cluster;
}

double log2_up(int n) { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }

/// Returns the seconds of an all-reduce; a reduce-scatter or an all-gather needs half of them.
double all_reduce_seconds(const Cluster& cluster, double bytes, int ranks) {
  const int inside = std::min(ranks, cluster.ranks_per_node);
  const int nodes = (ranks + inside - 1) / inside;
  double seconds = 0;
  if (inside > 1) seconds += cluster.inside.alpha + 2.0 * (inside - 1) / inside * bytes / cluster.inside.beta;
  if (nodes > 1) {
    const double messages = std::min(2.0 * (nodes - 1), 2.0 * log2_up(nodes));
    seconds += messages * cluster.between.alpha + 2.0 * (nodes - 1) / nodes * (bytes / inside) / cluster.between.beta;
  }
  return seconds;
}

}  // namespace

std::vector<std::string_view> cluster_names() {
  std::vector<std::string_view> names;
  for (const Cluster& cluster : built_in()) names.emplace_back(cluster.name);
  return names;
}

Cluster cluster_of(std::string_view text) {
  if (text.starts_with('{')) return parsed(text);
  for (const Cluster& cluster : built_in())
    if (cluster.name == text) return cluster;
  const std::vector<std::string_view> names = cluster_names();
  throw bad_usage("the cluster '{}' is not known: {}, or JSON{}", printable(text), fmt::join(names, ", "),
                  did_you_mean(text, names));
}

double seconds_of(const Cluster& cluster, Collective collective, std::int64_t bytes, int ranks) {
  if (ranks == 1) return 0;
  const auto size = static_cast<double>(bytes);
  const bool is_inside = ranks <= cluster.ranks_per_node;
  const Link& link = is_inside ? cluster.inside : cluster.between;
  switch (collective) {
    case Collective::all_reduce:
      return all_reduce_seconds(cluster, size, ranks);
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return all_reduce_seconds(cluster, size, ranks) / 2;
    case Collective::shift:
      return link.alpha + size / link.beta;
    case Collective::broadcast:
      return log2_up(ranks) * link.alpha + size / link.beta;
    case Collective::barrier:
      break;
  }
  return 2 * log2_up(ranks) * link.alpha;
}

}  // namespace attn::parallel
