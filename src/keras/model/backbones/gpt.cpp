// Decoder backbones with layer norms: GPT-2, OPT, GPT-NeoX, Bloom, Falcon.
#include <array>
#include <optional>
#include <utility>

#include "classes/composite.h"
#include "model/backbones/text.h"

namespace attn::keras {
namespace {

class GPT2Backbone : public HeadedBackbone {
 public:
  GPT2Backbone() { max_sequence_length = 1024; }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef rows =
        call(token_embedding({{"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}}), {token_ids});
    const Json initializer = normal_initializer("RandomNormal", 0.02);
    const TensorRef positions =
        call("PositionEmbedding", "position_embedding",
             {{"sequence_length", max_sequence_length.value}, {"initializer", initializer}}, {rows});
    const TensorRef x =
        embeddings_dropout(call("Add", "embeddings_add", Json::object(), {Arg(ArgList{rows, positions})}));
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"layer_norm_epsilon", 1e-5},
                        {"activation", gelu_approximate()},
                        {"kernel_initializer", initializer},
                        {"normalize_first", true}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(x, "TransformerDecoder", "transformer_layer", [&](auto) { return block; },
                                              {{"decoder_padding_mask", padding_mask}}),
                               1e-5);
  }
};

class OPTBackbone : public HeadedBackbone {
 public:
  OPTBackbone() { max_sequence_length = 2048; }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const Json initializer = normal_initializer("TruncatedNormal", 0.02);
    const TensorRef x = call("TokenAndPositionEmbedding", "embeddings",
                             {{"vocabulary_size", vocabulary_size.value},
                              {"sequence_length", max_sequence_length.value},
                              {"embedding_dim", hidden_dim.value},
                              {"embeddings_initializer", initializer}},
                             {token_ids});
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"activation", "relu"},
                        {"layer_norm_epsilon", 1e-5},
                        {"normalize_first", true},
                        {"kernel_initializer", initializer}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(x, "TransformerDecoder", "transformer_layer", [&](auto) { return block; },
                                              {{"decoder_padding_mask", padding_mask}}),
                               1e-5);
  }
};

class GPTNeoXBackbone : public HeadedBackbone {
 public:
  GPTNeoXBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("rotary_percentage", rotary_percentage);
    f("rotary_max_wavelength", rotary_max_wavelength);
    f("max_sequence_length", max_sequence_length);
    f("layer_norm_epsilon", layer_norm_epsilon);
    // KerasHub has neither key: its activation is tanh-approximated gelu, and its head the token embedding.
    if (f.reading() || activation) f("activation", activation);
    if (f.reading() || !tie_word_embeddings) f("tie_word_embeddings", tie_word_embeddings);
  }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    Json arguments = {{"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}};
    if (!tie_word_embeddings) arguments["tie_weights"] = false;
    const TensorRef rows = call(token_embedding(std::move(arguments)), {token_ids});
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"max_sequence_length", max_sequence_length.value},
                        {"rotary_percentage", rotary_percentage.value},
                        {"rotary_max_wavelength", rotary_max_wavelength.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value},
                        {"activation", activation ? activation->json : gelu_approximate()},
                        {"kernel_initializer", normal_initializer("RandomNormal", 0.02)}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(embeddings_dropout(rows), "GPTNeoXDecoder", "transformer_layer",
                                              [&](auto) { return block; }, {{"decoder_padding_mask", padding_mask}}),
                               layer_norm_epsilon);
  }

 private:
  Number rotary_percentage = 0.25, rotary_max_wavelength = 10000, layer_norm_epsilon = 1e-5;
  std::optional<Activation> activation;
  bool tie_word_embeddings = true;
};

class BloomBackbone : public HeadedBackbone {
 public:
  BloomBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef rows =
        call(token_embedding({{"embeddings_initializer", normal_initializer("RandomNormal", 0.02)}}), {token_ids});
    const Json block = {{"num_heads", num_heads.value},
                        {"intermediate_dim", intermediate_dim.value},
                        {"dropout", dropout.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value}};
    const TensorRef x =
        call("LayerNormalization", "embedding_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {rows});
    set_inputs({token_ids, padding_mask});
    output_struct = call("LayerNormalization", "final_layernorm", {{"epsilon", layer_norm_epsilon.value}},
                         {through_blocks(x, "BloomDecoder", "transformer_layer", [&](auto) { return block; },
                                         {{"decoder_padding_mask", padding_mask}})});
  }

 private:
  Number layer_norm_epsilon = 1e-5;
};

class FalconBackbone : public TextBackbone {
 public:
  FalconBackbone() { dropout = 0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_attention_heads", num_attention_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("attention_dropout_rate", attention_dropout_rate);
    f("feedforward_dropout_rate", feedforward_dropout_rate);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    // ε is not passed to its blocks, which use their default.
    const Json block = {{"num_attention_heads", num_attention_heads.value},
                        {"intermediate_dim", intermediate_dim.value},
                        {"attention_dropout_rate", attention_dropout_rate.value},
                        {"feedforward_dropout_rate", feedforward_dropout_rate.value}};
    TensorRef x = call(token_embedding(Json::object()), {token_ids});
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call("FalconTransformerDecoder", fmt::format("transformer_layer_{}", i), block, {},
               {{"inputs", x}, {"decoder_padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = call("LayerNormalization", "final_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {x});
  }

 private:
  Positive num_attention_heads;
  Number attention_dropout_rate{0}, feedforward_dropout_rate{0}, layer_norm_epsilon = 1e-5;
};

constexpr std::array kGptBackbones = {
    backbone_record<BloomBackbone>("BloomBackbone", "keras_hub.src.models.bloom.bloom_backbone"),
    backbone_record<FalconBackbone>("FalconBackbone", "keras_hub.src.models.falcon.falcon_backbone"),
    backbone_record<GPT2Backbone>("GPT2Backbone", "keras_hub.src.models.gpt2.gpt2_backbone"),
    backbone_record<GPTNeoXBackbone>("GPTNeoXBackbone", "keras_hub.src.models.gpt_neo_x.gpt_neo_x_backbone"),
    backbone_record<OPTBackbone>("OPTBackbone", "keras_hub.src.models.opt.opt_backbone"),
};

}  // namespace

Family gpt_backbones() { return kGptBackbones; }

}  // namespace attn::keras
