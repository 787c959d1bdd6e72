// The pairs come from keras_hub/src/utils/transformers/convert_*.py, or from the code of both libraries if there is no
// converter.
#include "hugging_face/names.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "hugging_face/tables.h"

namespace attn::weights {
namespace {

constexpr std::array<NameRow, 20> kGpt2{{
    {"token_embedding/embeddings", "wte.weight", kSame},
    {"position_embedding/embeddings", "wpe.weight", kSame},
    {"transformer_layer_{}/self_attention/query/kernel", "h.{}.attn.c_attn.weight", kConv1d},
    {"transformer_layer_{}/self_attention/key/kernel", "h.{}.attn.c_attn.weight", kConv1d},
    {"transformer_layer_{}/self_attention/value/kernel", "h.{}.attn.c_attn.weight", kConv1d},
    {"transformer_layer_{}/self_attention/query/bias", "h.{}.attn.c_attn.bias", kVector},
    {"transformer_layer_{}/self_attention/key/bias", "h.{}.attn.c_attn.bias", kVector},
    {"transformer_layer_{}/self_attention/value/bias", "h.{}.attn.c_attn.bias", kVector},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "h.{}.attn.c_proj.weight", kConv1dFromHeads},
    {"transformer_layer_{}/self_attention/attention_output/bias", "h.{}.attn.c_proj.bias", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "h.{}.ln_1.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "h.{}.ln_1.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "h.{}.mlp.c_fc.weight", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "h.{}.mlp.c_fc.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "h.{}.mlp.c_proj.weight", kSame},
    {"transformer_layer_{}/feedforward_output_dense/bias", "h.{}.mlp.c_proj.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "h.{}.ln_2.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "h.{}.ln_2.bias", kSame},
    {"layer_norm/gamma", "ln_f.weight", kSame},
    {"layer_norm/beta", "ln_f.bias", kSame},
}};

/// Llama, Mistral, Qwen 2 and 3: rows that a family lacks match no weight.
constexpr std::array<NameRow, 17> kLlama{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true},
    {"transformer_layer_{}/self_attention/query/kernel", "layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/key/kernel", "layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/value/kernel", "layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/query/bias", "layers.{}.self_attn.q_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/key/bias", "layers.{}.self_attn.k_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/value/bias", "layers.{}.self_attn.v_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/query_dense_layernorm/scale", "layers.{}.self_attn.q_norm.weight", kSame},
    {"transformer_layer_{}/self_attention/key_dense_layernorm/scale", "layers.{}.self_attn.k_norm.weight", kSame},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"transformer_layer_{}/self_attention_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/feedforward_gate_dense/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "layers.{}.mlp.up_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};

constexpr std::array<NameRow, 11> kGemma{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"decoder_block_{}/pre_attention_norm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"decoder_block_{}/attention/query/kernel", "layers.{}.self_attn.q_proj.weight", kByHead},
    {"decoder_block_{}/attention/key/kernel", "layers.{}.self_attn.k_proj.weight", kByHead},
    {"decoder_block_{}/attention/value/kernel", "layers.{}.self_attn.v_proj.weight", kByHead},
    {"decoder_block_{}/attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"decoder_block_{}/pre_ffw_norm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"decoder_block_{}/ffw_gating/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"decoder_block_{}/ffw_gating_2/kernel", "layers.{}.mlp.up_proj.weight", kLinear},
    {"decoder_block_{}/ffw_linear/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"final_normalization/scale", "norm.weight", kSame},
}};

/// Has a norm after attention, and one after the feed-forward layers.
constexpr std::array<NameRow, 15> kGemma2{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"decoder_block_{}/pre_attention_norm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"decoder_block_{}/post_attention_norm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"decoder_block_{}/attention/query/kernel", "layers.{}.self_attn.q_proj.weight", kByHead},
    {"decoder_block_{}/attention/key/kernel", "layers.{}.self_attn.k_proj.weight", kByHead},
    {"decoder_block_{}/attention/value/kernel", "layers.{}.self_attn.v_proj.weight", kByHead},
    {"decoder_block_{}/attention/query_norm/scale", "layers.{}.self_attn.q_norm.weight", kSame},
    {"decoder_block_{}/attention/key_norm/scale", "layers.{}.self_attn.k_norm.weight", kSame},
    {"decoder_block_{}/attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"decoder_block_{}/pre_ffw_norm/scale", "layers.{}.pre_feedforward_layernorm.weight", kSame},
    {"decoder_block_{}/post_ffw_norm/scale", "layers.{}.post_feedforward_layernorm.weight", kSame},
    {"decoder_block_{}/ffw_gating/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"decoder_block_{}/ffw_gating_2/kernel", "layers.{}.mlp.up_proj.weight", kLinear},
    {"decoder_block_{}/ffw_linear/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"final_normalization/scale", "norm.weight", kSame},
}};

constexpr std::array<NameRow, 30> kBert{{
    {"token_embedding/embeddings", "embeddings.word_embeddings.weight", kSame},
    {"position_embedding/embeddings", "embeddings.position_embeddings.weight", kSame},
    {"segment_embedding/embeddings", "embeddings.token_type_embeddings.weight", kSame},
    {"embeddings_layer_norm/gamma", "embeddings.LayerNorm.weight", kSame},
    {"embeddings_layer_norm/beta", "embeddings.LayerNorm.bias", kSame},
    {"transformer_layer_{}/self_attention_layer/query/kernel", "encoder.layer.{}.attention.self.query.weight", kLinear},
    {"transformer_layer_{}/self_attention_layer/query/bias", "encoder.layer.{}.attention.self.query.bias", kVector},
    {"transformer_layer_{}/self_attention_layer/key/kernel", "encoder.layer.{}.attention.self.key.weight", kLinear},
    {"transformer_layer_{}/self_attention_layer/key/bias", "encoder.layer.{}.attention.self.key.bias", kVector},
    {"transformer_layer_{}/self_attention_layer/value/kernel", "encoder.layer.{}.attention.self.value.weight", kLinear},
    {"transformer_layer_{}/self_attention_layer/value/bias", "encoder.layer.{}.attention.self.value.bias", kVector},
    {"transformer_layer_{}/self_attention_layer/attention_output/kernel",
     "encoder.layer.{}.attention.output.dense.weight", kFromHeads},
    {"transformer_layer_{}/self_attention_layer/attention_output/bias", "encoder.layer.{}.attention.output.dense.bias",
     kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "encoder.layer.{}.attention.output.LayerNorm.weight",
     kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "encoder.layer.{}.attention.output.LayerNorm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "encoder.layer.{}.intermediate.dense.weight",
     kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "encoder.layer.{}.intermediate.dense.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "encoder.layer.{}.output.dense.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "encoder.layer.{}.output.dense.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "encoder.layer.{}.output.LayerNorm.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "encoder.layer.{}.output.LayerNorm.bias", kSame},
    {"pooled_dense/kernel", "pooler.dense.weight", kLinear},
    {"pooled_dense/bias", "pooler.dense.bias", kSame},
    {"logits/kernel", "classifier.weight", kLinear, true},
    {"logits/bias", "classifier.bias", kSame, true},
    {"mlm_head/intermediate_dense/kernel", "cls.predictions.transform.dense.weight", kLinear, true},
    {"mlm_head/intermediate_dense/bias", "cls.predictions.transform.dense.bias", kSame, true},
    {"mlm_head/intermediate_layer_norm/gamma", "cls.predictions.transform.LayerNorm.weight", kSame, true},
    {"mlm_head/intermediate_layer_norm/beta", "cls.predictions.transform.LayerNorm.bias", kSame, true},
    {"mlm_head/output_bias", "cls.predictions.bias", kSame, true},
}};

/// KerasHub numbers the blocks of a ViT from 1.
constexpr std::array<NameRow, 24> kViT{{
    {"vit_patching_and_embedding/class_token", "embeddings.cls_token", kSame},
    {"vit_patching_and_embedding/patch_embedding/kernel", "embeddings.patch_embeddings.projection.weight",
     kConvolution},
    {"vit_patching_and_embedding/patch_embedding/bias", "embeddings.patch_embeddings.projection.bias", kSame},
    {"vit_patching_and_embedding/position_embedding/embeddings", "embeddings.position_embeddings", kInFront},
    {"vit_encoder/transformer_block_{}/ln_1/gamma", "encoder.layer.{}.layernorm_before.weight", kSame},
    {"vit_encoder/transformer_block_{}/ln_1/beta", "encoder.layer.{}.layernorm_before.bias", kSame},
    {"vit_encoder/transformer_block_{}/mha/query/kernel", "encoder.layer.{}.attention.attention.query.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mha/query/bias", "encoder.layer.{}.attention.attention.query.bias", kVector},
    {"vit_encoder/transformer_block_{}/mha/key/kernel", "encoder.layer.{}.attention.attention.key.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mha/key/bias", "encoder.layer.{}.attention.attention.key.bias", kVector},
    {"vit_encoder/transformer_block_{}/mha/value/kernel", "encoder.layer.{}.attention.attention.value.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mha/value/bias", "encoder.layer.{}.attention.attention.value.bias", kVector},
    {"vit_encoder/transformer_block_{}/mha/attention_output/kernel", "encoder.layer.{}.attention.output.dense.weight",
     kFromHeads},
    {"vit_encoder/transformer_block_{}/mha/attention_output/bias", "encoder.layer.{}.attention.output.dense.bias",
     kSame},
    {"vit_encoder/transformer_block_{}/ln_2/gamma", "encoder.layer.{}.layernorm_after.weight", kSame},
    {"vit_encoder/transformer_block_{}/ln_2/beta", "encoder.layer.{}.layernorm_after.bias", kSame},
    {"vit_encoder/transformer_block_{}/mlp/dense_1/kernel", "encoder.layer.{}.intermediate.dense.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mlp/dense_1/bias", "encoder.layer.{}.intermediate.dense.bias", kSame},
    {"vit_encoder/transformer_block_{}/mlp/dense_2/kernel", "encoder.layer.{}.output.dense.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mlp/dense_2/bias", "encoder.layer.{}.output.dense.bias", kSame},
    {"vit_encoder/ln/gamma", "layernorm.weight", kSame},
    {"vit_encoder/ln/beta", "layernorm.bias", kSame},
    {"predictions/kernel", "classifier.weight", kLinear, true},
    {"predictions/bias", "classifier.bias", kSame, true},
}};

const std::array<NameTable, 21> kTables{{{"GPT2Backbone", "transformer.", kGpt2},
                                         {"LlamaBackbone", "model.", kLlama},
                                         {"Llama3Backbone", "model.", kLlama},
                                         {"MistralBackbone", "model.", kLlama},
                                         {"QwenBackbone", "model.", kLlama},
                                         {"Qwen3Backbone", "model.", kLlama},
                                         {"GemmaBackbone", "model.", kGemma2, "/post_attention_norm/"},
                                         {"GemmaBackbone", "model.", kGemma},
                                         {"Gemma3Backbone", "model.", kGemma2},
                                         {"BertBackbone", "bert.", kBert},
                                         {"ViTBackbone", "vit.", kViT, "", 1},
                                         {"OPTBackbone", "model.", opt_names()},
                                         {"Phi3Backbone", "model.", phi3_names()},
                                         {"MixtralBackbone", "model.", mixtral_names()},
                                         {"BartBackbone", "model.", bart_names()},
                                         {"SmolLM3Backbone", "model.", smollm3_names()},
                                         {"GPTNeoXBackbone", "gpt_neox.", gpt_neox_names()},
                                         {"BloomBackbone", "transformer.", bloom_names()},
                                         {"FalconBackbone", "transformer.", falcon_names()},
                                         {"T5Backbone", "", t5_gated_names(), "/gate_projector/"},
                                         {"T5Backbone", "", t5_names()}}};

/// The block number: for "transformer_layer_{}/bias" and "transformer_layer_12/bias" it is "12"; "" if the pattern has
/// none; empty if they do not match.
std::optional<std::string> number_in(std::string_view pattern, std::string_view path) {
  const std::size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos) return pattern == path ? std::optional<std::string>("") : std::nullopt;
  const std::string_view behind = pattern.substr(hole + 2);
  if (path.size() <= pattern.size() - 2 || !path.starts_with(pattern.substr(0, hole)) || !path.ends_with(behind))
    return std::nullopt;
  const std::string_view number = path.substr(hole, path.size() - hole - behind.size());
  constexpr std::size_t kMostDigits = 6;
  if (number.size() > kMostDigits || number.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return std::string(number);
}

/// Removes the number that Keras appends to a layer's name if a block has several layers of its class:
/// "transformer_layer_1/mixtral_sparse_moe_block_1/…", "transformer_encoder_layer_1/t5_layer_norm_2/…".
std::string without_counter(std::string_view path) {
  std::string out(path);
  const std::size_t first = out.find('/'), second = out.find('/', first + 1);
  if (second == std::string::npos) return out;
  std::size_t from = second;
  while (from > 0 && out[from - 1] >= '0' && out[from - 1] <= '9') --from;
  if (from < second && from > first + 1 && out[from - 1] == '_') out.erase(from - 1, second - from + 1);
  return out;
}

/// The row whose pattern matches a path.
FoundName row_of(const NameTable& table, std::string_view spelling) {
  for (const NameRow& row : table.rows) {
    std::optional<std::string> number = number_in(row.keras, spelling);
    if (!number) continue;
    if (!number->empty()) number = std::to_string(std::stoi(*number) - table.first_block);
    return {&row, *number};
  }
  return {};
}

}  // namespace

const NameTable* find_names(std::string_view backbone, std::span<const graph::WeightSpec> specs) {
  for (const NameTable& table : kTables) {
    if (table.backbone != backbone) continue;
    const bool has = table.mark.empty() || std::any_of(specs.begin(), specs.end(), [&](const graph::WeightSpec& spec) {
                       return spec.path.find(table.mark) != std::string::npos;
                     });
    if (has) return &table;
  }
  return nullptr;
}

std::string FoundName::array(Dim expert) const {
  std::string name(row->hugging_face);
  const auto fill = [&](std::string_view hole, const std::string& text) {
    if (const std::size_t at = name.find(hole); at != std::string::npos) name.replace(at, hole.size(), text);
  };
  fill("{}", block);
  fill("{expert}", std::to_string(expert));
  return name;
}

std::vector<FoundName> find_rows(const NameTable& table, std::span<const graph::WeightSpec> specs) {
  std::map<std::string, int> seen;
  std::vector<FoundName> out;
  for (const graph::WeightSpec& spec : specs) {
    const std::string bare = without_counter(spec.path);
    const std::string counted = bare + "#" + std::to_string(seen[bare]++);
    FoundName& found = out.emplace_back();
    for (const std::string_view spelling :
         {std::string_view(spec.path), std::string_view(bare), std::string_view(counted)}) {
      if (found.row == nullptr) found = row_of(table, spelling);
    }
  }
  return out;
}

}  // namespace attn::weights
