// Options and results of attention.
//
// Letters: see head_attention.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

/// The options that graph::Attention and graph::CachedAttention share.
struct AttentionOptions {
  double scale = 1.0;
  graph::AttentionPath path = graph::AttentionPath::fused;
  double soft_cap = 0.0;
  bool causal = false;
  bool cached = false;  ///< in a decode step: the keys and values are cached even if the attention is not causal
  std::optional<std::int64_t> window;
  std::optional<graph::ValueId> bias;  ///< broadcasts to (B,N,T,S)
  std::vector<graph::ValueId> masks;   ///< bool, each broadcasts to (B,N,T,S)
  bool scores = false;                 ///< whether to return the probabilities
};

struct Attended {
  graph::ValueId context = graph::kNone;  ///< (B,T,N,H)
  graph::ValueId scores = graph::kNone;   ///< (B,N,T,S), if requested
};

}  // namespace attn::keras
