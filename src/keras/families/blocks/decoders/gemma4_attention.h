// The attention and the norms of Gemma 4, and keys and values that several layers share.
//
// Letters: see head_attention.h.
#pragma once

#include "classes/call.h"
#include "classes/class_info.h"
#include "classes/layers/attention/attend.h"

namespace attn::keras {

/// Returns keys and values (B,T,K,H) as one tensor (B,2,T,K,H), for layers that share them. For this tensor,
/// shared_keys() returns `kept`.
[[nodiscard]] TensorPtr stacked_keys(Call& call, graph::ValueId key, graph::ValueId value, const KeptKeys& kept);
/// Returns the keys and values of a result of stacked_keys(). Any other tensor (B,2,T,K,H) is divided.
[[nodiscard]] KeptKeys shared_keys(Call& call, const TensorPtr& stack);

[[nodiscard]] LayerPtr make_gemma4_norm();
[[nodiscard]] LayerPtr make_gemma4_value_norm();
[[nodiscard]] LayerPtr make_gemma4_attention();

}  // namespace attn::keras
