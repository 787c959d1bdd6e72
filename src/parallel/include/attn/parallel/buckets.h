// Many small sums over ranks as a few large ones: a pass, graph in, graph out.
#pragma once

#include <cstdint>
#include <set>

#include "attn/graph/graph.h"

namespace attn::parallel {

/// Bytes of a bucket that are worth a message of its own.
inline constexpr std::int64_t kBucketBytes = 25 << 20;

/// Sums whose numbers are rounded to a dtype of fewer bytes before they travel, and are sums of what was rounded.
struct Rounded {
  std::set<graph::ValueId> sums;
  DType dtype = DType::float32;
};

/// The sums over ranks that go into these outputs and nowhere else, as they are, moved or with other numbers.
[[nodiscard]] std::set<graph::ValueId> sums_behind(const graph::Graph& graph, const std::set<graph::ValueId>& outputs);

/// Joins the sums on which no other meeting of ranks depends, as those of gradients, in the order in which they are
/// ready: a bucket of numbers of one dtype is sent when it has `bytes`, the last ones at the end, and what reads them
/// comes behind all else, so that they may travel meanwhile. All numbers stay the same but those that are `rounded`,
/// and outputs and inputs keep their places; values get other ids.
[[nodiscard]] graph::Graph bucket_sums(graph::Graph graph, std::int64_t bytes = kBucketBytes,
                                       const Rounded& rounded = {});

}  // namespace attn::parallel
