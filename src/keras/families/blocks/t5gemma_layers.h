// The layers of T5Gemma and T5Gemma 2 (keras_hub/src/models/t5gemma, t5gemma2).
#pragma once

#include <cstdint>
#include <string_view>

#include "classes/class_info.h"

namespace attn::keras {

enum class T5GemmaGeneration : std::uint8_t { first, second };

/// The kinds of attention. T5Gemma 2 normalizes queries and keys. Its decoder attends to its own positions and to the
/// encoder's in a single softmax; that of T5Gemma has one layer for each.
enum class T5GemmaAttentionKind : std::uint8_t { first, second, merged };

template <T5GemmaAttentionKind kKind>
[[nodiscard]] LayerPtr make_t5gemma_attention();
[[nodiscard]] LayerPtr make_t5gemma_mlp();
template <T5GemmaGeneration kGeneration>
[[nodiscard]] LayerPtr make_t5gemma_encoder_layer();
template <T5GemmaGeneration kGeneration>
[[nodiscard]] LayerPtr make_t5gemma_decoder_layer();

/// The names of the attention's sizes in the literature.
inline constexpr std::string_view kT5GemmaAttentionSymbols =
    "query/kernel: d_model h d_head; query/bias: h d_head; key/kernel: d_model g d_head; key/bias: g d_head;"
    " value/kernel: d_model g d_head; value/bias: g d_head; query_norm/scale: d_head; key_norm/scale: d_head;"
    " attention_output/kernel: h d_head d_model; attention_output/bias: d_model";

}  // namespace attn::keras
