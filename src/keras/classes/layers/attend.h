// Attention of heads, of whole sequences and of new tokens behind cached ones.
//
// Letters as in head_attention.h.
#pragma once

#include "classes/call.h"
#include "classes/layers/attending.h"

namespace attn::keras {

/// Queries (B,T,N,H) attend to keys and values (B,S,K,H). New tokens of a decoder that are causal also see the cached
/// ones (S in bias and masks is then the length of the cache), and give no probabilities.
[[nodiscard]] Attended attend(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                              const Attending& how);

/// How KerasHub's own attention layers compute softmax: by a Softmax layer of float32, after which a row that sees
/// nothing is 0. In half precision that is nearer to the fused computation, where such a row is a mean.
[[nodiscard]] graph::AttentionPath softmax_path(const Call& call);

}  // namespace attn::keras
