// Padding masks in KerasHub's blocks.
//
// Letters: B batch, T length of the queries, S length of the keys.
#pragma once

#include <string_view>

#include "classes/call.h"

namespace attn::keras {

/// The mask of a call as merged by KerasHub (transformer_layer_utils.py): an explicit padding mask replaces that of the
/// inputs, and hides only keys. int32 (B,1,S) or (B,T,S); None if there is none. Both strings are names of arguments.
[[nodiscard]] Arg merged_mask(Call& call, const TensorPtr& inputs, std::string_view padding_mask,
                              std::string_view attention_mask);

}  // namespace attn::keras
