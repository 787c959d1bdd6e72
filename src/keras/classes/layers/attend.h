// Attention of heads, of whole sequences and of new tokens behind cached ones.
//
// Letters as in head_attention.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"

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

/// Queries (B,T,N,H) attend to keys and values (B,S,K,H). New tokens of a decoder that are causal also see the cached
/// ones (S in bias and masks is then the length of the cache), and give no probabilities.
[[nodiscard]] Attended attend(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                              const Attending& how);

/// How KerasHub's own attention layers compute softmax: by a Softmax layer of float32, after which a row that sees
/// nothing is 0. In half precision that is nearer to the fused computation, where such a row is a mean.
[[nodiscard]] graph::AttentionPath softmax_path(const Call& call);

}  // namespace attn::keras
