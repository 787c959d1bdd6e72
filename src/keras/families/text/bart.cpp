// BART (keras_hub/src/models/bart).
#include <array>
#include <string>
#include <utility>

#include "attn/base/error.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/seq_2_seq_lm.h"

namespace attn::keras::bart {
namespace {

class BartBackbone : public HeadedBackbone {
 public:
  BartBackbone() { max_sequence_length = 1024; }

 protected:
  void assemble() override {
    const Sides in{tokens("encoder_token_ids"), tokens("encoder_padding_mask"), tokens("decoder_token_ids"),
                   tokens("decoder_padding_mask")};
    Layer& rows = token_embedding({{"embeddings_initializer", initializer()}});
    TensorRef x = embedded(rows, "encoder", in.encoder_tokens);
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call("TransformerEncoder", fmt::format("transformer_encoder_layer_{}", i), block(), {x},
               {{"padding_mask", in.encoder_mask}});
    const TensorRef encoded = x;
    x = embedded(rows, "decoder", in.decoder_tokens);
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call("TransformerDecoder", fmt::format("transformer_decoder_layer_{}", i), block(), {},
               {{"decoder_sequence", x},
                {"encoder_sequence", encoded},
                {"decoder_padding_mask", in.decoder_mask},
                {"encoder_padding_mask", in.encoder_mask}});
    set_inputs({in.encoder_tokens, in.encoder_mask, in.decoder_tokens, in.decoder_mask});
    output_struct = ArgDict{{"encoder_sequence_output", encoded}, {"decoder_sequence_output", x}};
  }

 private:
  static Json initializer() { return normal_initializer("TruncatedNormal", 0.02); }
  [[nodiscard]] Json block() const {
    return {{"num_heads", num_heads.value}, {"intermediate_dim", intermediate_dim.value},
            {"activation", "gelu"},         {"dropout", dropout.value},
            {"layer_norm_epsilon", 1e-5},   {"kernel_initializer", initializer()}};
  }
  TensorRef embedded(Layer& rows, const std::string& side, const TensorRef& token_ids) {
    const TensorRef tokens = call(rows, {token_ids});
    const TensorRef positions =
        call("PositionEmbedding", side + "_position_embedding",
             {{"initializer", initializer()}, {"sequence_length", max_sequence_length.value}}, {tokens});
    const TensorRef both = call("Add", side + "_embeddings_add", Json::object(), {Arg(ArgList{tokens, positions})});
    return dropped_out(side + "_embeddings_dropout", layer_norm(side + "_embeddings_layer_norm", both, 1e-5));
  }
};

class BartSeq2SeqLM final : public Seq2SeqLM {
 protected:
  [[nodiscard]] std::optional<Packing> packing() const override {
    return Packing{true, {SpecialToken::end, SpecialToken::start}};
  }
  TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) override {
    TensorPtr x = embedded(lowering, "encoder", tokens);
    for (std::int64_t i = 0, count = num_layers(); i < count; ++i)
      x = call_layer(lowering, fmt::format("transformer_encoder_layer_{}", i), {x}, {{"padding_mask", mask}});
    return x;
  }
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& mask) override {
    TensorPtr x = embedded(lowering, "decoder", tokens);
    for (std::int64_t i = 0, count = num_layers(); i < count; ++i)
      x = call_layer(lowering, fmt::format("transformer_decoder_layer_{}", i), {},
                     {{"decoder_sequence", x}, {"encoder_sequence", encoded}, {"encoder_padding_mask", mask}});
    return x;
  }

 private:
  TensorPtr embedded(Lowering& lowering, const std::string& side, const TensorPtr& tokens) {
    const TensorPtr rows = call_layer(lowering, "token_embedding", {tokens});
    const TensorPtr positions = call_layer(lowering, side + "_position_embedding", {rows});
    const TensorPtr both = call_layer(lowering, side + "_embeddings_add", {Arg(ArgList{rows, positions})});
    return call_layer(lowering, side + "_embeddings_layer_norm", {both});
  }
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "encoder_layers");
  map.same("num_heads", "encoder_attention_heads");
  map.same("hidden_dim", "d_model");
  map.same("intermediate_dim", "encoder_ffn_dim");
  // The decoder has the same sizes as the encoder.
  for (const auto& [keras, hugging_face] :
       {std::pair("num_layers", "decoder_layers"), std::pair("num_heads", "decoder_attention_heads"),
        std::pair("intermediate_dim", "decoder_ffn_dim")}) {
    if (!map.reading()) {
      map.put(hugging_face, map.of_keras(keras));
    } else if (const auto own = map.find(hugging_face); own && own->json() != map.result()[keras]) {
      map.refuse(*own, "a decoder of another size than the encoder");
    }
  }
  map.same("dropout", "dropout", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 1024);
  map.fixed("activation_function", {"gelu"});
  map.fixed("scale_embedding", {false});
  map.fixed("is_encoder_decoder", {true});
}

constexpr std::array kModels = {
    model_record<BartBackbone>("BartBackbone", "keras_hub.src.models.bart.bart_backbone"),
    model_record<BartSeq2SeqLM>("BartSeq2SeqLM", "keras_hub.src.models.bart.bart_seq_2_seq_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{
        .model_type = "bart", .stem = "Bart", .architecture = "Bart", .sizes = sizes, .heads = kSeq2SeqHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// The position table is as in OPT.
constexpr std::array<NameRow, 49> kNames{{
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
constexpr std::array kWeightNames = {
    NameTable{"BartBackbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "BartTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kStartToken,
               .end = kEndToken,
               .pad = kPadToken,
               .words = tokenizers::kGpt2Words},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "bart",
                    .keras_class = "BartTokenizer",
                    .vocabulary = FolderTokenizer::Vocabulary::vocab_json,
                    .around = FolderTokenizer::Around::start_and_end},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "bart",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::bart
