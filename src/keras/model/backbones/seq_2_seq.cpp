// Backbones with an encoder and a decoder: BART, T5.
#include <array>
#include <cmath>

#include "model/backbones/text.h"

namespace attn::keras {
namespace {

/// The inputs of both sides; the decoder's come second.
struct Sides {
  TensorRef encoder_tokens, encoder_mask, decoder_tokens, decoder_mask;
};

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

class T5Backbone : public TextBackbone {
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
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (!key_value_dim && hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
  }
  void assemble() override {
    const Sides in{tokens("encoder_token_ids"), tokens("encoder_padding_mask"), tokens("decoder_token_ids"),
                   tokens("decoder_padding_mask")};
    Json initializer = Initializer("TruncatedNormal").json;
    initializer["config"]["mean"] = 1.0;  // KerasHub passes the value as the first argument of TruncatedNormal
    Layer& rows = token_embedding({{"tie_weights", tie_embedding_weights}, {"embeddings_initializer", initializer}});
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
  /// x[:, None, :]
  TensorRef with_query_axis(const TensorRef& x) {
    return operation("GetItem", Json::object(), {x, ArgList{SliceArg{}, Arg(), SliceArg{}}});
  }

  /// The first layer of a stack computes the position bias, which all later layers receive.
  TensorRef through(const std::string& side, TensorRef x, const ArgDict& kwargs) {
    std::optional<TensorRef> bias;
    for (std::int64_t i = 0; i < num_layers; ++i) {
      ArgDict all = kwargs;
      if (bias) all.emplace_back("position_bias", *bias);
      x = call("T5TransformerLayer", fmt::format("transformer_{}_layer_{}", side, i),
               {{"is_decoder", side == "decoder"},
                {"hidden_dim", hidden_dim.value},
                {"intermediate_dim", intermediate_dim.value},
                {"key_value_dim", key_value_dim ? key_value_dim->value : hidden_dim / num_heads},
                {"dropout", dropout.value},
                {"activation", activation.json},
                {"layer_norm_epsilon", layer_norm_epsilon.value},
                {"num_heads", num_heads.value},
                {"use_gated_activation", use_gated_activation},
                {"use_relative_attention_bias", i == 0}},
               {x}, all);
      bias = TensorRef{x.layer, x.node, 1};
    }
    return x;
  }
  TensorRef ended(const std::string& side, const TensorRef& x) {
    return dropped_out(side + "_output_dropout",
                       call("T5LayerNorm", side + "_output_layer_norm", {{"epsilon", layer_norm_epsilon.value}}, {x}));
  }

  Positive num_heads;
  Activation activation = *Activation::named("relu");
  std::optional<Positive> key_value_dim;
  bool use_gated_activation = true, tie_embedding_weights = true;
  Number layer_norm_epsilon{1e-6};
};

constexpr std::array kSeq2SeqBackbones = {
    backbone_record<BartBackbone>("BartBackbone", "keras_hub.src.models.bart.bart_backbone"),
    backbone_record<T5Backbone>("T5Backbone", "keras_hub.src.models.t5.t5_backbone"),
};

}  // namespace

Family seq_2_seq_backbones() { return kSeq2SeqBackbones; }

}  // namespace attn::keras
