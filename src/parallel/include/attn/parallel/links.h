// Measurement of the links between ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/communicators/communicator.h"
#include "attn/parallel/cluster.h"

namespace attn::parallel {

/// A measured all-reduce over this many bytes.
struct MeasuredSum {
  std::int64_t bytes = 0;
  double seconds = 0;
};

/// Measures sums from 8 bytes to 16 MiB. The time of a size is the median of the quietest of seven windows. Every rank
/// calls it, and all get rank 0's figures. It needs half a second on an idle machine.
[[nodiscard]] std::vector<MeasuredSum> measure_sums(communicators::Communicator& world);

/// The distribution of ranks over machines.
struct Spread {
  int ranks = 1, nodes = 1;
};

/// Returns the link with which seconds_of() reproduces the times of the smallest and the largest sum. On one machine it
/// is the link inside a node, which is also used between nodes, because none was measured there. On several machines it
/// is the link between nodes, as if each rank had a node of its own. The caller sets peak and memory bandwidth.
[[nodiscard]] Cluster cluster_of(const std::vector<MeasuredSum>& sums, const Spread& spread);

}  // namespace attn::parallel
