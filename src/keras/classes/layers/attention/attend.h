// Multi-head attention, for whole sequences and for new tokens with a KV cache.
//
// Letters: see head_attention.h.
#pragma once

#include "classes/call.h"
#include "classes/layers/attention/attention_options.h"

namespace attn::keras {

/// Adds attention of queries (B,T,N,H) to keys and values (B,S,K,H). In a causal decode step the queries also attend to
/// the cache; S in bias and masks is then the length of the cache, and there are no probabilities.
[[nodiscard]] Attended attend(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                              const AttentionOptions& how);

/// The keys and values (B,S,K,H) of a layer. In a decode step they are those of the cache, with the new ones appended.
struct KeptKeys {
  graph::ValueId key = graph::kNone, value = graph::kNone;
};
/// The first half of a call of attend() that caches keys and values. Several calls of attend_to() can follow, also
/// those of other layers.
[[nodiscard]] KeptKeys keep(Call& call, graph::ValueId key, graph::ValueId value);
/// Adds attention of queries (B,T,N,H) to all kept keys and values.
[[nodiscard]] Attended attend_to(Call& call, graph::ValueId query, const KeptKeys& kept, const AttentionOptions& how);

/// Returns the path that is closest to KerasHub's attention layers, which use a Softmax layer in float32. In float32, a
/// row without visible keys becomes 0. In half precision it is the fused path, in which such a row becomes the mean of
/// all values.
[[nodiscard]] graph::AttentionPath softmax_path(const Call& call);

}  // namespace attn::keras
