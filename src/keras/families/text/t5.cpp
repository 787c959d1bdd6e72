// T5: an encoder and a decoder of the same size, with relative positions (keras_hub/src/models/t5).
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/graph/graph.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/t5_layers.h"
#include "families/blocks/t5_stacks.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::t5 {
namespace {

class T5Backbone : public T5Stacks {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f("activation", activation);
    f("key_value_dim", key_value_dim);
    f("dropout", dropout);
    f("use_gated_activation", use_gated_activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("tie_embedding_weights", tie_embedding_weights);
  }

 protected:
  void assemble() override {
    const Sides in{tokens("encoder_token_ids"), tokens("encoder_padding_mask"), tokens("decoder_token_ids"),
                   tokens("decoder_padding_mask")};
    Layer& rows = token_rows(tie_embedding_weights);
    TensorRef x = dropped_out("encoder_embedding_dropout", call(rows, {in.encoder_tokens}));
    const TensorRef encoder_mask = with_query_axis(in.encoder_mask);
    const TensorRef encoded =
        ended("encoder", through("encoder", x, {{"attention_mask", encoder_mask}, {"use_causal_mask", false}}));
    x = dropped_out("decoder_embedding_dropout", call(rows, {in.decoder_tokens}));
    const TensorRef decoder_mask = with_query_axis(in.decoder_mask);
    x = ended("decoder", through("decoder", x,
                                 {{"attention_mask", decoder_mask},
                                  {"encoder_hidden_states", encoded},
                                  {"encoder_attention_mask", encoder_mask},
                                  {"use_causal_mask", true}}));
    set_inputs({in.encoder_tokens, in.encoder_mask, in.decoder_tokens, in.decoder_mask});
    output_struct = ArgDict{{"encoder_sequence_output", encoded}, {"decoder_sequence_output", x}};
  }

 private:
  bool tie_embedding_weights = true;
};

class T5Seq2SeqLM final : public T5StacksLM {
 protected:
  [[nodiscard]] std::optional<double> hidden_scale() override {
    if (!backbone_flag("tie_embedding_weights")) return std::nullopt;
    return 1.0 / std::sqrt(static_cast<double>(backbone_size("hidden_dim")));
  }
  TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) override {
    return through(lowering, "encoder", embedded(lowering, tokens), num_layers(),
                   {{"attention_mask", with_query_axis(lowering, mask)}});
  }
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& mask) override {
    return through(lowering, "decoder", embedded(lowering, tokens), num_layers(),
                   {{"encoder_hidden_states", encoded},
                    {"encoder_attention_mask", with_query_axis(lowering, mask)},
                    {"use_causal_mask", true}});
  }

 private:
  TensorPtr embedded(Lowering& lowering, const TensorPtr& tokens) {
    return call_layer(lowering, "token_embedding", {tokens});
  }
};

constexpr const char *kActivation = "activation", *kGated = "use_gated_activation";
constexpr const char *kProjection = "feed_forward_proj", *kFunction = "dense_act_fn", *kIsGated = "is_gated_act";
constexpr std::string_view kGatedBegin = "gated-";

/// "relu", or "gated-gelu", which means tanh-approximated gelu in transformers; two other keys repeat it and have
/// priority.
void feed_forward(ConfigMap& map) {
  if (!map.reading()) {
    const Json own = map.of_keras(kActivation);
    const std::string name = own.is_string() ? own.get<std::string>() : "gelu_new";
    if (!own.is_string() && own != gelu_approximate())
      throw bad_input("transformers does not support the activation of this T5");
    const bool gated = map.of_keras(kGated).get<bool>();
    const std::string named = gated && name == "gelu_new" ? "gelu" : name;
    map.put(kProjection, (gated ? std::string(kGatedBegin) : "") + named);
    map.put(kFunction, name);
    return map.put(kIsGated, gated);
  }
  const auto found = map.find(kProjection);
  std::string name = found ? found->text() : "relu";
  const bool gated = name.starts_with(kGatedBegin);
  if (gated) name.erase(0, kGatedBegin.size());
  if (gated && name == "gelu") name = "gelu_new";
  const char* origin = found ? kProjection : "";
  if (const auto function = map.find(kFunction)) {
    name = function->text();
    origin = kFunction;
  }
  const bool by_tanh = name == "gelu_new" || name == "gelu_fast" || name == kTanhGelu;
  map.put(kActivation, by_tanh ? gelu_approximate() : Json(name), origin);
  map.put(kGated, map.flag(kIsGated, gated), map.find(kIsGated) ? kIsGated : found ? kProjection : "");
}

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("hidden_dim", "d_model");
  map.same("intermediate_dim", "d_ff");
  map.same("num_layers", "num_layers");
  constexpr const char* kOfDecoder = "num_decoder_layers";
  if (!map.reading()) {
    map.put(kOfDecoder, map.of_keras("num_layers"));
  } else if (const auto own = map.find(kOfDecoder); own && own->json() != map.result()["num_layers"]) {
    map.refuse(*own, "a decoder of another size than the encoder");
  }
  map.same("num_heads", "num_heads");
  feed_forward(map);
  if (!map.reading() && map.of_keras("key_value_dim").is_null()) {
    map.put("d_kv", map.of_keras("hidden_dim").get<std::int64_t>() / map.of_keras("num_heads").get<std::int64_t>());
  } else {
    map.same("key_value_dim", "d_kv", 64);
  }
  map.same("dropout", "dropout_rate", 0.1);
  map.same("layer_norm_epsilon", "layer_norm_epsilon", 1e-6);
  // transformers 5 always ties the embeddings, and has a separate key for the scaling of logits. KerasHub scales the
  // logits if the embeddings are tied.
  constexpr const char* kScaled = "scale_decoder_outputs";
  if (map.reading() && map.find(kScaled)) {
    map.put("tie_embedding_weights", map.flag(kScaled, true), kScaled);
  } else {
    map.same("tie_embedding_weights", "tie_word_embeddings", true);
  }
  map.fixed("relative_attention_num_buckets", {32});
  map.fixed("relative_attention_max_distance", {128});
  map.fixed("is_encoder_decoder", {true});
  if (map.reading()) return;
  map.put("decoder_start_token_id", 0);
  map.put("pad_token_id", 0);
  map.put("eos_token_id", 1);
}

constexpr std::array kModels = {
    model_record<T5Backbone>("T5Backbone", "keras_hub.src.models.t5.t5_backbone"),
    model_record<T5Seq2SeqLM>("T5Seq2SeqLM", "keras_hub.src.models.t5.t5_seq_2_seq_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"t5", "T5", "T5", sizes, false, kSeq2SeqHeads},
};

// KerasHub numbers norms across all blocks, and the paths of its position biases have no block name.
using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 27> kNames{{
    {"token_embedding/embeddings", "shared.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true, 0, "shared.weight"},
    {"self_attention/embeddings#0", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", kSame},
    {"self_attention/embeddings#1", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", kSame},
    {"transformer_encoder_layer_{}/self_attention/query_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.q.weight", kLinear},
    {"transformer_encoder_layer_{}/self_attention/key_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.k.weight", kLinear},
    {"transformer_encoder_layer_{}/self_attention/value_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.v.weight", kLinear},
    {"transformer_encoder_layer_{}/self_attention/output_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.o.weight", kLinear},
    {"transformer_encoder_layer_{}/t5_layer_norm/weight#0", "encoder.block.{}.layer.0.layer_norm.weight", kSame},
    {"transformer_encoder_layer_{}/input_projector/kernel", "encoder.block.{}.layer.1.DenseReluDense.wi.weight",
     kLinear},
    {"transformer_encoder_layer_{}/output_projector/kernel", "encoder.block.{}.layer.1.DenseReluDense.wo.weight",
     kLinear},
    {"transformer_encoder_layer_{}/t5_layer_norm/weight#1", "encoder.block.{}.layer.1.layer_norm.weight", kSame},
    {"encoder_output_layer_norm/weight", "encoder.final_layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/self_attention/query_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.q.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/key_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.k.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/value_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.v.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/output_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.o.weight", kLinear},
    {"transformer_decoder_layer_{}/t5_layer_norm/weight#0", "decoder.block.{}.layer.0.layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/cross_attention/query_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.q.weight", kLinear},
    {"transformer_decoder_layer_{}/cross_attention/key_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.k.weight", kLinear},
    {"transformer_decoder_layer_{}/cross_attention/value_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.v.weight", kLinear},
    {"transformer_decoder_layer_{}/cross_attention/output_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.o.weight", kLinear},
    {"transformer_decoder_layer_{}/t5_layer_norm/weight#1", "decoder.block.{}.layer.1.layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/input_projector/kernel", "decoder.block.{}.layer.2.DenseReluDense.wi.weight",
     kLinear},
    {"transformer_decoder_layer_{}/output_projector/kernel", "decoder.block.{}.layer.2.DenseReluDense.wo.weight",
     kLinear},
    {"transformer_decoder_layer_{}/t5_layer_norm/weight#2", "decoder.block.{}.layer.2.layer_norm.weight", kSame},
    {"decoder_output_layer_norm/weight", "decoder.final_layer_norm.weight", kSame},
}};

/// These rows are for gated feed-forward layers.
constexpr std::array<NameRow, 29> kGatedNames{{
    {"token_embedding/embeddings", "shared.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true, 0, "shared.weight"},
    {"self_attention/embeddings#0", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", kSame},
    {"self_attention/embeddings#1", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", kSame},
    {"transformer_encoder_layer_{}/self_attention/query_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.q.weight", kLinear},
    {"transformer_encoder_layer_{}/self_attention/key_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.k.weight", kLinear},
    {"transformer_encoder_layer_{}/self_attention/value_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.v.weight", kLinear},
    {"transformer_encoder_layer_{}/self_attention/output_projector/kernel",
     "encoder.block.{}.layer.0.SelfAttention.o.weight", kLinear},
    {"transformer_encoder_layer_{}/t5_layer_norm/weight#0", "encoder.block.{}.layer.0.layer_norm.weight", kSame},
    {"transformer_encoder_layer_{}/input_projector/kernel", "encoder.block.{}.layer.1.DenseReluDense.wi_0.weight",
     kLinear},
    {"transformer_encoder_layer_{}/gate_projector/kernel", "encoder.block.{}.layer.1.DenseReluDense.wi_1.weight",
     kLinear},
    {"transformer_encoder_layer_{}/output_projector/kernel", "encoder.block.{}.layer.1.DenseReluDense.wo.weight",
     kLinear},
    {"transformer_encoder_layer_{}/t5_layer_norm/weight#1", "encoder.block.{}.layer.1.layer_norm.weight", kSame},
    {"encoder_output_layer_norm/weight", "encoder.final_layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/self_attention/query_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.q.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/key_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.k.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/value_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.v.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/output_projector/kernel",
     "decoder.block.{}.layer.0.SelfAttention.o.weight", kLinear},
    {"transformer_decoder_layer_{}/t5_layer_norm/weight#0", "decoder.block.{}.layer.0.layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/cross_attention/query_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.q.weight", kLinear},
    {"transformer_decoder_layer_{}/cross_attention/key_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.k.weight", kLinear},
    {"transformer_decoder_layer_{}/cross_attention/value_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.v.weight", kLinear},
    {"transformer_decoder_layer_{}/cross_attention/output_projector/kernel",
     "decoder.block.{}.layer.1.EncDecAttention.o.weight", kLinear},
    {"transformer_decoder_layer_{}/t5_layer_norm/weight#1", "decoder.block.{}.layer.1.layer_norm.weight", kSame},
    {"transformer_decoder_layer_{}/input_projector/kernel", "decoder.block.{}.layer.2.DenseReluDense.wi_0.weight",
     kLinear},
    {"transformer_decoder_layer_{}/gate_projector/kernel", "decoder.block.{}.layer.2.DenseReluDense.wi_1.weight",
     kLinear},
    {"transformer_decoder_layer_{}/output_projector/kernel", "decoder.block.{}.layer.2.DenseReluDense.wo.weight",
     kLinear},
    {"transformer_decoder_layer_{}/t5_layer_norm/weight#2", "decoder.block.{}.layer.2.layer_norm.weight", kSame},
    {"decoder_output_layer_norm/weight", "decoder.final_layer_norm.weight", kSame},
}};

constexpr std::array kWeightNames = {
    NameTable{"T5Backbone", "", kGatedNames, "/gate_projector/"},
    NameTable{"T5Backbone", "", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "T5Tokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kEndToken,
               .end = kEndToken,
               .pad = kPadToken,
               .transformers_class = "T5Tokenizer",
               .transformers_file = "spiece.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "t5",
                    .keras_class = "T5Tokenizer",
                    .is_converted = false,
                    .around = FolderTokenizer::Around::end_by_default},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "t5",
                                       .layers = kT5Layers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::t5
