// What lies between ranks, measured on the ranks themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/communicators/communicator.h"
#include "attn/parallel/cluster.h"

namespace attn::parallel {

/// An AllReduce over so many bytes.
struct MeasuredSum {
  std::int64_t bytes = 0;
  double seconds = 0;
};

/// From 8 bytes to 16 MiB: of each the median in the quietest of seven windows. Every rank calls it, and all get what
/// rank 0 has seen. Half a second where nothing else runs.
[[nodiscard]] std::vector<MeasuredSum> measure_sums(communicators::Communicator& world);

/// How the ranks are spread over machines.
struct Spread {
  int ranks = 1, nodes = 1;
};

/// The figures with which seconds_of() gives the least and the largest sum's time: of ranks on one machine those inside
/// a node, which stand for what is between nodes too, as nothing was measured there; of several machines those between,
/// as if each rank had one of its own. Peak and memory are the caller's to fill in.
[[nodiscard]] Cluster cluster_of(const std::vector<MeasuredSum>& sums, const Spread& spread);

}  // namespace attn::parallel
