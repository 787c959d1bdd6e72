// What attention is asked for, and what it gives.
//
// Letters as in head_attention.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

/// What graph::Attention and graph::CachedAttention tell alike.
struct Attending {
  double scale = 1.0;
  graph::AttentionPath path = graph::AttentionPath::fused;
  double soft_cap = 0.0;
  bool causal = false;
  std::optional<std::int64_t> window;
  std::optional<graph::ValueId> bias;  ///< broadcasts to (B,N,T,S)
  std::vector<graph::ValueId> masks;   ///< bool, each broadcasts to (B,N,T,S)
  bool scores = false;                 ///< are the probabilities wanted?
};

struct Attended {
  graph::ValueId context = graph::kNone;  ///< (B,T,N,H)
  graph::ValueId scores = graph::kNone;   ///< (B,N,T,S), where they are wanted
};

}  // namespace attn::keras
