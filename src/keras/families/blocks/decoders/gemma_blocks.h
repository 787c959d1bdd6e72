// The blocks of Gemma 1, 2 and 3, and of PaliGemma (keras_hub/src/models/gemma, gemma3, pali_gemma).
#pragma once

#include <cstdint>
#include <string_view>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/class_info.h"

namespace attn::keras {

/// Gemma 2 uses the classes of Gemma 1. PaliGemma's blocks differ from those only in their masks.
enum class GemmaGeneration : std::uint8_t { first, pali, third };

/// The mask (1,1,length,length) of a window of `size` keys around each query. If the size is even, it has one key more
/// after the query than before it.
[[nodiscard]] graph::ValueId window_around(graph::Builder& b, Dim length, Dim size);

/// Returns the arguments of an attention in which neither keys nor queries are padding. Throws Error (bad_input) in a
/// decode step.
[[nodiscard]] ArgDict attending_both_ways(Call& call, const TensorPtr& in);
/// Clamps values to the range of float16.
[[nodiscard]] TensorPtr clamped(Call& call, const TensorPtr& x);
/// Returns x + y in float16, added in float32 and clamped.
[[nodiscard]] TensorPtr clamped_sum(Call& call, const TensorPtr& x, const TensorPtr& y);

[[nodiscard]] LayerPtr make_gemma_norm();
[[nodiscard]] LayerPtr make_gemma_pooling();
template <GemmaGeneration kGeneration>
[[nodiscard]] LayerPtr make_gemma_attention();
template <GemmaGeneration kGeneration>
[[nodiscard]] LayerPtr make_gemma_block();

/// The names of the attention's sizes in the literature.
inline constexpr std::string_view kGemmaAttentionSymbols =
    "query/kernel: h d_model d_head; key/kernel: g d_model d_head; value/kernel: g d_model d_head;"
    " query_norm/scale: d_head; key_norm/scale: d_head; attention_output/kernel: h d_head d_model";

}  // namespace attn::keras
