// Padding in KerasHub's blocks.
//
// Letters: B batch, T length of the queries, S length of the keys.
#pragma once

#include <string_view>

#include "classes/call.h"

namespace attn::keras {

/// The mask of a call as KerasHub merges it (transformer_layer_utils.py): an explicit padding mask wins over that of
/// the inputs, and masks keys alone. int32 (B,1,S) or (B,T,S); None where there is none. Both name arguments.
[[nodiscard]] Arg merged_mask(Call& call, const TensorPtr& inputs, std::string_view padding_mask,
                              std::string_view attention_mask);

}  // namespace attn::keras
