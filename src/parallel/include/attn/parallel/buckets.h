// Gradient bucketing: a pass that merges many small all-reduces into a few large ones.
#pragma once

#include <cstdint>
#include <set>

#include "attn/graph/graph.h"

namespace attn::parallel {

/// The bytes at which a bucket is sent.
inline constexpr std::int64_t kBucketBytes = 25 << 20;

/// Sums that are sent in a narrower dtype; each summand is rounded first.
struct RoundedSums {
  std::set<graph::ValueId> sums;
  DType dtype = DType::float32;
};

/// Returns the sums over ranks that reach only these outputs, whether unchanged, moved, or combined with other values.
[[nodiscard]] std::set<graph::ValueId> sums_reaching_only(const graph::Graph& graph,
                                                          const std::set<graph::ValueId>& outputs);

/// Merges the sums that no other collective depends on, such as those of gradients, in the order in which they are
/// ready. A bucket has one dtype and is sent once it has `bytes`; the last buckets are sent at the end. The readers of
/// the sums are moved behind all other nodes, so that the transfer overlaps with computation. Results stay the same
/// except those that are `rounded`. Outputs and inputs keep their positions; values get other ids.
[[nodiscard]] graph::Graph bucket_sums(graph::Graph graph, std::int64_t bytes = kBucketBytes,
                                       const RoundedSums& rounded = {});

}  // namespace attn::parallel
