// Variants of KerasHub's CachedMultiHeadAttention, for the families that have them.
#pragma once

#include <string_view>

#include "classes/class_info.h"

namespace attn::keras {

/// Makes a CachedMultiHeadAttention whose projection of keys has no bias.
[[nodiscard]] LayerPtr make_cached_attention_without_key_bias();

/// The names of the sizes of multi-head attention in the literature.
inline constexpr std::string_view kMultiHeadSymbols =
    "query/kernel: d_model h d_head; query/bias: h d_head;"
    " key/kernel: d_model|d_key h d_head; key/bias: h d_head;"
    " value/kernel: d_model|d_value h d_head|d_v; value/bias: h d_head|d_v;"
    " gate/kernel: d_model h d_head|d_v; gate/bias: h d_head|d_v;"
    " attention_output/kernel: h d_head|d_v d_model|d_out; attention_output/bias: d_model|d_out";

}  // namespace attn::keras
