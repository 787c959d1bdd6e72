// Layers that read earlier tokens in order, without attention: a causal window, and the delta rule. In a decode step
// they carry a state.
//
// Letters: B rows, T tokens, D width, H heads, K key size, V value size.
#pragma once

#include <array>

#include "attn/graph/graph.h"
#include "classes/call.h"

namespace attn::keras {

/// Returns x (B,T,D) behind its `count` earlier tokens, (B,count+T,D). There are zeros before the first token.
[[nodiscard]] graph::ValueId behind_earlier(Call& call, graph::ValueId x, Dim count);

/// Returns the outputs (B,T,H,V) of a graph::DeltaRule that begins with a state of zeros. The vectors are query, decay,
/// key (B,T,H,K), value (B,T,H,V), a and b (B,T,H,K).
[[nodiscard]] graph::ValueId delta_rule(Call& call, const std::array<graph::ValueId, 6>& vectors);

}  // namespace attn::keras
