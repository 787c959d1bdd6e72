// Clusters as described to the cost model, and the time of collectives on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/communicators/communicator.h"

namespace attn::parallel {

/// A message of S bytes takes alpha + S / beta seconds.
struct Link {
  double alpha = 0;  ///< seconds
  double beta = 1;   ///< bytes per second
};

struct Cluster {
  std::string name;
  int ranks_per_node = 1;
  double peak = 0;       ///< floating-point operations per second per rank
  double share = 0.5;    ///< fraction of the peak that large products reach
  double memory_bw = 0;  ///< memory bandwidth per rank, in bytes per second
  int wire_bytes = 4;    ///< bytes per gradient element sent in training
  Link inside, between;  ///< links inside a node (where a collective has a single alpha), and between nodes
};

/// Returns the names of the built-in clusters: "h200-ndr", "cpu-100g".
[[nodiscard]] std::vector<std::string_view> cluster_names();

/// Returns a built-in cluster, or one given as JSON: {"ranks_per_node", "peak", "share", "memory_bw", "inside":
/// {"alpha", "beta"}, "between": {…}}. Throws Error (usage) for an unknown name, (bad_input) for any other JSON.
[[nodiscard]] Cluster cluster_of(std::string_view text);

/// Returns the seconds of a collective over this many bytes on `ranks` ranks, which fill one node after the other.
/// Between nodes it is the faster of a ring and a tree, after a step inside the nodes.
[[nodiscard]] double seconds_of(const Cluster& cluster, communicators::Collective collective, std::int64_t bytes,
                                int ranks);

}  // namespace attn::parallel
