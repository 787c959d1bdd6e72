// Padding masks in the blocks of KerasHub.
//
// Letters: B batch, T length of the queries, S length of the keys.
#pragma once

#include <string_view>

#include "classes/call.h"

namespace attn::keras {

/// Returns the merged mask of a call (transformer_layer_utils.py in KerasHub). An explicit padding mask replaces that
/// of the inputs, and hides only keys. The result is int32 (B,1,S) or (B,T,S); None without masks. Both strings are
/// names of arguments.
[[nodiscard]] Arg merged_mask(Call& call, const TensorPtr& inputs, std::string_view padding_mask,
                              std::string_view attention_mask);

}  // namespace attn::keras
