// Hugging Face's names of weights that several families of decoders have.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "attn/weights/name_table.h"

namespace attn::keras {

/// The names of Llama, Mistral, Qwen 2 and 3. Rows for weights that a family lacks are unused.
inline constexpr std::array<weights::NameRow, 17> kLlamaNames{{
    {"token_embedding/embeddings", "embed_tokens.weight", weights::layouts::kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", weights::layouts::kLinear, true},
    {"transformer_layer_{}/self_attention/query/kernel", "layers.{}.self_attn.q_proj.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/self_attention/key/kernel", "layers.{}.self_attn.k_proj.weight", weights::layouts::kLinear},
    {"transformer_layer_{}/self_attention/value/kernel", "layers.{}.self_attn.v_proj.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/self_attention/query/bias", "layers.{}.self_attn.q_proj.bias", weights::layouts::kVector},
    {"transformer_layer_{}/self_attention/key/bias", "layers.{}.self_attn.k_proj.bias", weights::layouts::kVector},
    {"transformer_layer_{}/self_attention/value/bias", "layers.{}.self_attn.v_proj.bias", weights::layouts::kVector},
    {"transformer_layer_{}/self_attention/query_dense_layernorm/scale", "layers.{}.self_attn.q_norm.weight",
     weights::layouts::kSame},
    {"transformer_layer_{}/self_attention/key_dense_layernorm/scale", "layers.{}.self_attn.k_norm.weight",
     weights::layouts::kSame},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight",
     weights::layouts::kFromHeads},
    {"transformer_layer_{}/self_attention_layernorm/scale", "layers.{}.input_layernorm.weight",
     weights::layouts::kSame},
    {"transformer_layer_{}/feedforward_gate_dense/kernel", "layers.{}.mlp.gate_proj.weight", weights::layouts::kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "layers.{}.mlp.up_proj.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "layers.{}.mlp.down_proj.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/feedforward_layernorm/scale", "layers.{}.post_attention_layernorm.weight",
     weights::layouts::kSame},
    {"sequence_output_layernorm/scale", "norm.weight", weights::layouts::kSame},
}};

/// Returns the rows of two tables.
template <std::size_t first, std::size_t second>
constexpr std::array<weights::NameRow, first + second> joined_names(const std::array<weights::NameRow, first>& a,
                                                                    const std::array<weights::NameRow, second>& b) {
  std::array<weights::NameRow, first + second> out;
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), out.begin()));
  return out;
}

/// The names of Gemma 2, with a norm after attention, and one after the feed-forward layers.
inline constexpr std::array<weights::NameRow, 15> kGemma2Names{{
    {"token_embedding/embeddings", "embed_tokens.weight", weights::layouts::kSame},
    {"decoder_block_{}/pre_attention_norm/scale", "layers.{}.input_layernorm.weight", weights::layouts::kSame},
    {"decoder_block_{}/post_attention_norm/scale", "layers.{}.post_attention_layernorm.weight",
     weights::layouts::kSame},
    {"decoder_block_{}/attention/query/kernel", "layers.{}.self_attn.q_proj.weight", weights::layouts::kByHead},
    {"decoder_block_{}/attention/key/kernel", "layers.{}.self_attn.k_proj.weight", weights::layouts::kByHead},
    {"decoder_block_{}/attention/value/kernel", "layers.{}.self_attn.v_proj.weight", weights::layouts::kByHead},
    {"decoder_block_{}/attention/query_norm/scale", "layers.{}.self_attn.q_norm.weight", weights::layouts::kSame},
    {"decoder_block_{}/attention/key_norm/scale", "layers.{}.self_attn.k_norm.weight", weights::layouts::kSame},
    {"decoder_block_{}/attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight",
     weights::layouts::kFromHeads},
    {"decoder_block_{}/pre_ffw_norm/scale", "layers.{}.pre_feedforward_layernorm.weight", weights::layouts::kSame},
    {"decoder_block_{}/post_ffw_norm/scale", "layers.{}.post_feedforward_layernorm.weight", weights::layouts::kSame},
    {"decoder_block_{}/ffw_gating/kernel", "layers.{}.mlp.gate_proj.weight", weights::layouts::kLinear},
    {"decoder_block_{}/ffw_gating_2/kernel", "layers.{}.mlp.up_proj.weight", weights::layouts::kLinear},
    {"decoder_block_{}/ffw_linear/kernel", "layers.{}.mlp.down_proj.weight", weights::layouts::kLinear},
    {"final_normalization/scale", "norm.weight", weights::layouts::kSame},
}};

}  // namespace attn::keras
