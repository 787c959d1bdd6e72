// Machines that work together, as the cost model knows them, and what collectives take on them.
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
  double peak = 0;       ///< floating-point operations per second of a rank
  double share = 0.5;    ///< of the peak, that large products reach
  double memory_bw = 0;  ///< bytes per second of a rank's memory
  int wire_bytes = 4;    ///< of a number on its way in training: of a gradient
  Link inside, between;  ///< in a node, where the whole of a collective has one alpha; and between nodes
};

/// The names of clusters that are built in: "h200-ndr", "cpu-100g".
[[nodiscard]] std::vector<std::string_view> cluster_names();

/// A built-in cluster, or one written as JSON: {"ranks_per_node", "peak", "share", "memory_bw", "inside": {"alpha",
/// "beta"}, "between": {…}}. Throws Error (usage) for an unknown name, (bad_input) for JSON that is none of this.
[[nodiscard]] Cluster cluster_of(std::string_view text);

/// Seconds that a collective over so many bytes takes on `ranks` ranks that fill nodes one after the other: of a ring
/// or a tree, whichever is faster, between nodes, after what nodes do inside.
[[nodiscard]] double seconds_of(const Cluster& cluster, communicators::Collective collective, std::int64_t bytes,
                                int ranks);

}  // namespace attn::parallel
