// Many small sums over ranks as a few large ones: a pass, graph in, graph out.
#pragma once

#include <cstdint>

#include "attn/graph/graph.h"

namespace attn::parallel {

/// Bytes of a bucket that are worth a message of its own.
inline constexpr std::int64_t kBucketBytes = 25 << 20;

/// Joins the sums on which no other meeting of ranks depends, as those of gradients, in the order in which they are
/// ready: a bucket of numbers of one dtype is sent when it has `bytes`, what reads them comes behind it, and the last
/// are sent at the end. All numbers stay the same, and outputs and inputs keep their places; values get other ids.
[[nodiscard]] graph::Graph bucket_sums(graph::Graph graph, std::int64_t bytes = kBucketBytes);

}  // namespace attn::parallel
