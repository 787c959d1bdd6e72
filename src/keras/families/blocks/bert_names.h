// The names in Hugging Face's files of BERT's weights, which are those of several families.
#pragma once

#include <array>

#include "families/blocks/name_rows.h"

namespace attn::keras {

inline constexpr std::array<NameRow, 16> kBertBlockNames{{
    {"transformer_layer_{}/self_attention_layer/query/kernel", "encoder.layer.{}.attention.self.query.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/self_attention_layer/query/bias", "encoder.layer.{}.attention.self.query.bias",
     weights::layouts::kVector},
    {"transformer_layer_{}/self_attention_layer/key/kernel", "encoder.layer.{}.attention.self.key.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/self_attention_layer/key/bias", "encoder.layer.{}.attention.self.key.bias",
     weights::layouts::kVector},
    {"transformer_layer_{}/self_attention_layer/value/kernel", "encoder.layer.{}.attention.self.value.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/self_attention_layer/value/bias", "encoder.layer.{}.attention.self.value.bias",
     weights::layouts::kVector},
    {"transformer_layer_{}/self_attention_layer/attention_output/kernel",
     "encoder.layer.{}.attention.output.dense.weight", weights::layouts::kFromHeads},
    {"transformer_layer_{}/self_attention_layer/attention_output/bias", "encoder.layer.{}.attention.output.dense.bias",
     weights::layouts::kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "encoder.layer.{}.attention.output.LayerNorm.weight",
     weights::layouts::kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "encoder.layer.{}.attention.output.LayerNorm.bias",
     weights::layouts::kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "encoder.layer.{}.intermediate.dense.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "encoder.layer.{}.intermediate.dense.bias",
     weights::layouts::kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "encoder.layer.{}.output.dense.weight",
     weights::layouts::kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "encoder.layer.{}.output.dense.bias",
     weights::layouts::kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "encoder.layer.{}.output.LayerNorm.weight",
     weights::layouts::kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "encoder.layer.{}.output.LayerNorm.bias",
     weights::layouts::kSame},
}};

/// The embeddings of a SegmentedBackbone.
inline constexpr std::array<NameRow, 5> kBertEmbeddingNames{{
    {"token_embedding/embeddings", "embeddings.word_embeddings.weight", weights::layouts::kSame},
    {"position_embedding/embeddings", "embeddings.position_embeddings.weight", weights::layouts::kSame},
    {"segment_embedding/embeddings", "embeddings.token_type_embeddings.weight", weights::layouts::kSame},
    {"embeddings_layer_norm/gamma", "embeddings.LayerNorm.weight", weights::layouts::kSame},
    {"embeddings_layer_norm/beta", "embeddings.LayerNorm.bias", weights::layouts::kSame},
}};

}  // namespace attn::keras
