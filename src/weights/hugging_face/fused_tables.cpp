// Names of decoders that store query, key and value in one array. The pairs come from the code of both libraries.
#include <array>

#include "hugging_face/tables.h"

namespace attn::weights {
namespace {

/// KerasHub also has one array for query, key and value of a head.
constexpr std::array<NameRow, 16> kGptNeoX{{
    {"token_embedding/embeddings", "embed_in.weight", kSame},
    {"token_embedding/reverse_embeddings", "embed_out.weight", kLinear, true},
    {"transformer_layer_{}/self_attention/query_key_value/kernel", "layers.{}.attention.query_key_value.weight",
     kLinear},
    {"transformer_layer_{}/self_attention/query_key_value/bias", "layers.{}.attention.query_key_value.bias", kVector},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "layers.{}.attention.dense.weight", kLinear},
    {"transformer_layer_{}/self_attention/attention_output/bias", "layers.{}.attention.dense.bias", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "layers.{}.input_layernorm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "layers.{}.mlp.dense_h_to_4h.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "layers.{}.mlp.dense_h_to_4h.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "layers.{}.mlp.dense_4h_to_h.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "layers.{}.mlp.dense_4h_to_h.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "layers.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "layers.{}.post_attention_layernorm.bias", kSame},
    {"layer_norm/gamma", "final_layer_norm.weight", kSame},
    {"layer_norm/beta", "final_layer_norm.bias", kSame},
}};

constexpr std::array<NameRow, 21> kBloom{{
    {"token_embedding/embeddings", "word_embeddings.weight", kSame},
    {"embedding_layernorm/gamma", "word_embeddings_layernorm.weight", kSame},
    {"embedding_layernorm/beta", "word_embeddings_layernorm.bias", kSame},
    {"transformer_layer_{}/self_attention/query_dense/kernel", "h.{}.self_attention.query_key_value.weight",
     kLinearByHead},
    {"transformer_layer_{}/self_attention/key_dense/kernel", "h.{}.self_attention.query_key_value.weight",
     kLinearByHead},
    {"transformer_layer_{}/self_attention/value_dense/kernel", "h.{}.self_attention.query_key_value.weight",
     kLinearByHead},
    {"transformer_layer_{}/self_attention/query_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/self_attention/key_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/self_attention/value_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/self_attention/output_dense/kernel", "h.{}.self_attention.dense.weight", kLinear},
    {"transformer_layer_{}/self_attention/output_dense/bias", "h.{}.self_attention.dense.bias", kSame},
    {"transformer_layer_{}/pre_attention_layernorm/gamma", "h.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/pre_attention_layernorm/beta", "h.{}.input_layernorm.bias", kSame},
    {"transformer_layer_{}/post_attention_layernorm/gamma", "h.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/beta", "h.{}.post_attention_layernorm.bias", kSame},
    {"transformer_layer_{}/mlp_intermediate_dense/kernel", "h.{}.mlp.dense_h_to_4h.weight", kLinear},
    {"transformer_layer_{}/mlp_intermediate_dense/bias", "h.{}.mlp.dense_h_to_4h.bias", kSame},
    {"transformer_layer_{}/mlp_output_dense/kernel", "h.{}.mlp.dense_4h_to_h.weight", kLinear},
    {"transformer_layer_{}/mlp_output_dense/bias", "h.{}.mlp.dense_4h_to_h.bias", kSame},
    {"final_layernorm/gamma", "ln_f.weight", kSame},
    {"final_layernorm/beta", "ln_f.bias", kSame},
}};

constexpr std::array<NameRow, 19> kFalcon{{
    {"token_embedding/embeddings", "word_embeddings.weight", kSame},
    {"transformer_layer_{}/attention/query_dense/kernel", "h.{}.self_attention.query_key_value.weight", kLinearByHead},
    {"transformer_layer_{}/attention/key_dense/kernel", "h.{}.self_attention.query_key_value.weight", kLinearByHead},
    {"transformer_layer_{}/attention/value_dense/kernel", "h.{}.self_attention.query_key_value.weight", kLinearByHead},
    {"transformer_layer_{}/attention/query_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/attention/key_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/attention/value_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/attention/output_dense/kernel", "h.{}.self_attention.dense.weight", kLinear},
    {"transformer_layer_{}/attention/output_dense/bias", "h.{}.self_attention.dense.bias", kSame},
    {"transformer_layer_{}/input_layernorm/gamma", "h.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/input_layernorm/beta", "h.{}.input_layernorm.bias", kSame},
    {"transformer_layer_{}/post_attention_layernorm/gamma", "h.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/beta", "h.{}.post_attention_layernorm.bias", kSame},
    {"transformer_layer_{}/dense_h_to_4h/kernel", "h.{}.mlp.dense_h_to_4h.weight", kLinear},
    {"transformer_layer_{}/dense_h_to_4h/bias", "h.{}.mlp.dense_h_to_4h.bias", kSame},
    {"transformer_layer_{}/dense_4h_to_h/kernel", "h.{}.mlp.dense_4h_to_h.weight", kLinear},
    {"transformer_layer_{}/dense_4h_to_h/bias", "h.{}.mlp.dense_4h_to_h.bias", kSame},
    {"final_layernorm/gamma", "ln_f.weight", kSame},
    {"final_layernorm/beta", "ln_f.bias", kSame},
}};

}  // namespace

std::span<const NameRow> gpt_neox_names() { return kGptNeoX; }
std::span<const NameRow> bloom_names() { return kBloom; }
std::span<const NameRow> falcon_names() { return kFalcon; }

}  // namespace attn::weights
