// The pairs come from keras_hub/src/utils/transformers/convert_*.py, or from the code of both libraries if there is no
// converter.
#include "hugging_face/tables.h"

#include <array>

namespace attn::weights {
namespace {

/// The first two rows of its position table are unused.
constexpr std::array<NameRow, 20> kOpt{{
    {"embeddings/token_embedding/embeddings", "decoder.embed_tokens.weight", kSame},
    {"embeddings/position_embedding/embeddings", "decoder.embed_positions.weight", kSame, false, 2},
    {"transformer_layer_{}/self_attention/query/kernel", "decoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/query/bias", "decoder.layers.{}.self_attn.q_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/key/kernel", "decoder.layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/key/bias", "decoder.layers.{}.self_attn.k_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/value/kernel", "decoder.layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/value/bias", "decoder.layers.{}.self_attn.v_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "decoder.layers.{}.self_attn.out_proj.weight",
     kFromHeads},
    {"transformer_layer_{}/self_attention/attention_output/bias", "decoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "decoder.layers.{}.self_attn_layer_norm.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "decoder.layers.{}.self_attn_layer_norm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "decoder.layers.{}.fc1.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "decoder.layers.{}.fc1.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "decoder.layers.{}.fc2.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "decoder.layers.{}.fc2.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "decoder.layers.{}.final_layer_norm.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "decoder.layers.{}.final_layer_norm.bias", kSame},
    {"layer_norm/gamma", "decoder.final_layer_norm.weight", kSame},
    {"layer_norm/beta", "decoder.final_layer_norm.bias", kSame},
}};

/// Query, key and value are in one array; gate and up too.
constexpr std::array<NameRow, 12> kPhi3{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true},
    {"transformer_layer_{}/attention/query/kernel", "layers.{}.self_attn.qkv_proj.weight", kLinear},
    {"transformer_layer_{}/attention/key/kernel", "layers.{}.self_attn.qkv_proj.weight", kLinear},
    {"transformer_layer_{}/attention/value/kernel", "layers.{}.self_attn.qkv_proj.weight", kLinear},
    {"transformer_layer_{}/attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"transformer_layer_{}/pre_attention_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/feedforward_gate_dense/kernel", "layers.{}.mlp.gate_up_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "layers.{}.mlp.gate_up_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};

/// Each expert has separate arrays.
constexpr std::array<NameRow, 13> kMixtral{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true},
    {"transformer_layer_{}/self_attention/query/kernel", "layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/key/kernel", "layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/value/kernel", "layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"transformer_layer_{}/self_attention_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/mixtral_sparse_moe_block/sparse_feedforward_gate_dense/kernel",
     "layers.{}.block_sparse_moe.gate.weight", kLinear},
    {"transformer_layer_{}/mixtral_sparse_moe_block/experts/expert_feedforward_gate_dense",
     "layers.{}.block_sparse_moe.experts.{expert}.w1.weight", kLinear},
    {"transformer_layer_{}/mixtral_sparse_moe_block/experts/expert_feedforward_intermediate_dense",
     "layers.{}.block_sparse_moe.experts.{expert}.w3.weight", kLinear},
    {"transformer_layer_{}/mixtral_sparse_moe_block/experts/expert_feedforward_output_dense",
     "layers.{}.block_sparse_moe.experts.{expert}.w2.weight", kLinear},
    {"transformer_layer_{}/feedforward_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};

/// The position table is as in OPT.
constexpr std::array<NameRow, 49> kBart{{
    {"token_embedding/embeddings", "shared.weight", kSame},
    {"encoder_position_embedding/embeddings", "encoder.embed_positions.weight", kSame, false, 2},
    {"encoder_embeddings_layer_norm/gamma", "encoder.layernorm_embedding.weight", kSame},
    {"encoder_embeddings_layer_norm/beta", "encoder.layernorm_embedding.bias", kSame},
    {"transformer_encoder_layer_{}/self_attention_layer/query/kernel", "encoder.layers.{}.self_attn.q_proj.weight",
     kLinear},
    {"transformer_encoder_layer_{}/self_attention_layer/query/bias", "encoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"transformer_encoder_layer_{}/self_attention_layer/key/kernel", "encoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
    {"transformer_encoder_layer_{}/self_attention_layer/key/bias", "encoder.layers.{}.self_attn.k_proj.bias", kVector},
    {"transformer_encoder_layer_{}/self_attention_layer/value/kernel", "encoder.layers.{}.self_attn.v_proj.weight",
     kLinear},
    {"transformer_encoder_layer_{}/self_attention_layer/value/bias", "encoder.layers.{}.self_attn.v_proj.bias",
     kVector},
    {"transformer_encoder_layer_{}/self_attention_layer/attention_output/kernel",
     "encoder.layers.{}.self_attn.out_proj.weight", kFromHeads},
    {"transformer_encoder_layer_{}/self_attention_layer/attention_output/bias",
     "encoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"transformer_encoder_layer_{}/self_attention_layer_norm/gamma", "encoder.layers.{}.self_attn_layer_norm.weight",
     kSame},
    {"transformer_encoder_layer_{}/self_attention_layer_norm/beta", "encoder.layers.{}.self_attn_layer_norm.bias",
     kSame},
    {"transformer_encoder_layer_{}/feedforward_intermediate_dense/kernel", "encoder.layers.{}.fc1.weight", kLinear},
    {"transformer_encoder_layer_{}/feedforward_intermediate_dense/bias", "encoder.layers.{}.fc1.bias", kSame},
    {"transformer_encoder_layer_{}/feedforward_output_dense/kernel", "encoder.layers.{}.fc2.weight", kLinear},
    {"transformer_encoder_layer_{}/feedforward_output_dense/bias", "encoder.layers.{}.fc2.bias", kSame},
    {"transformer_encoder_layer_{}/feedforward_layer_norm/gamma", "encoder.layers.{}.final_layer_norm.weight", kSame},
    {"transformer_encoder_layer_{}/feedforward_layer_norm/beta", "encoder.layers.{}.final_layer_norm.bias", kSame},
    {"decoder_position_embedding/embeddings", "decoder.embed_positions.weight", kSame, false, 2},
    {"decoder_embeddings_layer_norm/gamma", "decoder.layernorm_embedding.weight", kSame},
    {"decoder_embeddings_layer_norm/beta", "decoder.layernorm_embedding.bias", kSame},
    {"transformer_decoder_layer_{}/self_attention/query/kernel", "decoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/query/bias", "decoder.layers.{}.self_attn.q_proj.bias", kVector},
    {"transformer_decoder_layer_{}/self_attention/key/kernel", "decoder.layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/key/bias", "decoder.layers.{}.self_attn.k_proj.bias", kVector},
    {"transformer_decoder_layer_{}/self_attention/value/kernel", "decoder.layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/value/bias", "decoder.layers.{}.self_attn.v_proj.bias", kVector},
    {"transformer_decoder_layer_{}/self_attention/attention_output/kernel",
     "decoder.layers.{}.self_attn.out_proj.weight", kFromHeads},
    {"transformer_decoder_layer_{}/self_attention/attention_output/bias", "decoder.layers.{}.self_attn.out_proj.bias",
     kSame},
    {"transformer_decoder_layer_{}/self_attention_layer_norm/gamma", "decoder.layers.{}.self_attn_layer_norm.weight",
     kSame},
    {"transformer_decoder_layer_{}/self_attention_layer_norm/beta", "decoder.layers.{}.self_attn_layer_norm.bias",
     kSame},
    {"transformer_decoder_layer_{}/cross_attention/query/kernel", "decoder.layers.{}.encoder_attn.q_proj.weight",
     kLinear},
    {"transformer_decoder_layer_{}/cross_attention/query/bias", "decoder.layers.{}.encoder_attn.q_proj.bias", kVector},
    {"transformer_decoder_layer_{}/cross_attention/key/kernel", "decoder.layers.{}.encoder_attn.k_proj.weight",
     kLinear},
    {"transformer_decoder_layer_{}/cross_attention/key/bias", "decoder.layers.{}.encoder_attn.k_proj.bias", kVector},
    {"transformer_decoder_layer_{}/cross_attention/value/kernel", "decoder.layers.{}.encoder_attn.v_proj.weight",
     kLinear},
    {"transformer_decoder_layer_{}/cross_attention/value/bias", "decoder.layers.{}.encoder_attn.v_proj.bias", kVector},
    {"transformer_decoder_layer_{}/cross_attention/attention_output/kernel",
     "decoder.layers.{}.encoder_attn.out_proj.weight", kFromHeads},
    {"transformer_decoder_layer_{}/cross_attention/attention_output/bias",
     "decoder.layers.{}.encoder_attn.out_proj.bias", kSame},
    {"transformer_decoder_layer_{}/cross_attention_layer_norm/gamma",
     "decoder.layers.{}.encoder_attn_layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/cross_attention_layer_norm/beta", "decoder.layers.{}.encoder_attn_layer_norm.bias",
     kSame},
    {"transformer_decoder_layer_{}/feedforward_intermediate_dense/kernel", "decoder.layers.{}.fc1.weight", kLinear},
    {"transformer_decoder_layer_{}/feedforward_intermediate_dense/bias", "decoder.layers.{}.fc1.bias", kSame},
    {"transformer_decoder_layer_{}/feedforward_output_dense/kernel", "decoder.layers.{}.fc2.weight", kLinear},
    {"transformer_decoder_layer_{}/feedforward_output_dense/bias", "decoder.layers.{}.fc2.bias", kSame},
    {"transformer_decoder_layer_{}/feedforward_layer_norm/gamma", "decoder.layers.{}.final_layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/feedforward_layer_norm/beta", "decoder.layers.{}.final_layer_norm.bias", kSame},
}};

/// In KerasHub, the paths of the attention output and of the position frequencies have no block name. Files do not
/// contain the frequencies.
constexpr std::array<NameRow, 18> kSmolLM3{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"transformer_layer_{}/self_attn/q_proj/kernel", "layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attn/q_proj/bias", "layers.{}.self_attn.q_proj.bias", kSame},
    {"transformer_layer_{}/self_attn/k_proj/kernel", "layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attn/k_proj/bias", "layers.{}.self_attn.k_proj.bias", kSame},
    {"transformer_layer_{}/self_attn/v_proj/kernel", "layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attn/v_proj/bias", "layers.{}.self_attn.v_proj.bias", kSame},
    {"o_proj/kernel#{}", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"rotary_emb/inv_freq#{}", "", kSame},
    {"transformer_layer_{}/mlp/gate_proj/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"transformer_layer_{}/mlp/gate_proj/bias", "layers.{}.mlp.gate_proj.bias", kSame},
    {"transformer_layer_{}/mlp/up_proj/kernel", "layers.{}.mlp.up_proj.weight", kLinear},
    {"transformer_layer_{}/mlp/up_proj/bias", "layers.{}.mlp.up_proj.bias", kSame},
    {"transformer_layer_{}/mlp/down_proj/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"transformer_layer_{}/mlp/down_proj/bias", "layers.{}.mlp.down_proj.bias", kSame},
    {"transformer_layer_{}/input_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};

}  // namespace

std::span<const NameRow> smollm3_names() { return kSmolLM3; }
std::span<const NameRow> opt_names() { return kOpt; }
std::span<const NameRow> phi3_names() { return kPhi3; }
std::span<const NameRow> mixtral_names() { return kMixtral; }
std::span<const NameRow> bart_names() { return kBart; }

}  // namespace attn::weights
