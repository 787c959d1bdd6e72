#include "families/blocks/t5gemma_backbone.h"

#include <cmath>

#include "classes/call.h"
#include "classes/composite.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

/// KerasHub leaves the names of the final norms to Keras.
constexpr const char *kEncoderNorm = "rms_normalization", *kDecoderNorm = "rms_normalization_1";

Json number(const std::optional<Number>& value) { return value ? Json(value->value) : Json(); }

}  // namespace

void T5GemmaFamilyBackbone::side_fields(Fields& f, Side& side) {
  const auto required = [&](const char* key, auto& value) {
    f.required(fmt::format("{}_{}", side.called, key), value);
  };
  required("hidden_dim", side.hidden_dim);
  required("intermediate_dim", side.intermediate_dim);
  required("num_layers", side.num_layers);
  required("num_attention_heads", side.num_attention_heads);
  required("num_key_value_heads", side.num_key_value_heads);
  required("layer_types", side.layer_types);
  required("head_dim", side.head_dim);
}

void T5GemmaFamilyBackbone::fields(Fields& f) {
  f.required("vocabulary_size", vocabulary_size);
  side_fields(f, encoder_);
  side_fields(f, decoder_);
  if (f.reading()) dropout = 0.0;
  f("dropout_rate", dropout);
  f("rms_norm_eps", rms_norm_eps);
  f("tie_word_embeddings", tie_word_embeddings);
  f("query_pre_attn_scalar", query_pre_attn_scalar);
  f("attention_bias", attention_bias);
  f("hidden_activation", hidden_activation);
  f("initializer_range", initializer_range);
  f("attention_dropout", attention_dropout);
  f("sliding_window", sliding_window);
  if (!f.reading() && !cross_attention_hidden_size) cross_attention_hidden_size = encoder_.hidden_dim;
  f("cross_attention_hidden_size", cross_attention_hidden_size);
  f("attn_logit_softcapping", attn_logit_softcapping);
  f("final_logit_softcapping", final_logit_softcapping);
  f("rope_max_wavelength", rope_max_wavelength);
  if (!is_second()) return;
  f("global_rope_scaling_factor", global_rope_scaling_factor);
  f("encoder_rope_max_wavelength", encoder_rope_max_wavelength);
  f("encoder_global_rope_scaling_factor", encoder_global_rope_scaling_factor);
  f("use_query_key_norm", use_query_key_norm);
  f("eoi_token_index", eoi_token_index);
  if (!f.reading()) return;
  if (const auto vision = f.take("vision_encoder"); vision && !vision->is_null())
    vision->fail("expected null: attn supports T5Gemma 2 only for text");
}

void T5GemmaFamilyBackbone::check_side(const Ref& config, const Side& side) {
  const auto at = [&](const char* key) { return config[fmt::format("{}_{}", side.called, key)]; };
  if (side.num_layers > kMaxBlocks)
    at("num_layers").fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  if (std::ssize(side.layer_types) < side.num_layers)
    at("layer_types").fail(fmt::format("expected the types of {} layers", side.num_layers.value));
  if (side.num_attention_heads % side.num_key_value_heads != 0)
    at("num_key_value_heads")
        .fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                          side.num_attention_heads.value, side.num_key_value_heads.value));
}

void T5GemmaFamilyBackbone::check_fields(const Ref& config) {
  if (dropout < 0.0 || dropout > 1.0)
    config["dropout_rate"].fail("expected a number from 0 to 1, got " + config["dropout_rate"].kind());
  check_side(config, encoder_);
  check_side(config, decoder_);
  if (is_second() && encoder_.hidden_dim != decoder_.hidden_dim)
    config["decoder_hidden_dim"].fail("expected that of the encoder: both share the projections of keys and values");
}

Json T5GemmaFamilyBackbone::block(const Side& side, std::int64_t i) const {
  const std::string& type = side.layer_types[static_cast<std::size_t>(i)];
  const bool encodes = &side == &encoder_;
  Json out = {{"hidden_size", side.hidden_dim.value},
              {"rms_norm_eps", rms_norm_eps.value},
              {"num_attention_heads", side.num_attention_heads.value},
              {"num_key_value_heads", side.num_key_value_heads.value},
              {"query_pre_attn_scalar", query_pre_attn_scalar.value},
              {"attention_bias", attention_bias},
              {"intermediate_size", side.intermediate_dim.value},
              {"hidden_activation", hidden_activation},
              {"head_dim", side.head_dim.value},
              {"dropout_rate", dropout.value},
              {"initializer_range", initializer_range.value},
              {"attention_dropout", attention_dropout.value},
              {"layer_type", type},
              {"sliding_window", sliding_window ? Json(sliding_window->value) : Json()},
              {"attn_logit_softcapping", number(attn_logit_softcapping)},
              {"rope_max_wavelength", rope_max_wavelength.value}};
  if (!encodes) out["cross_attention_hidden_size"] = cross_attention_hidden_size.value_or(encoder_.hidden_dim).value;
  if (!is_second()) return out;
  constexpr double kGlobalWavelength = 1e6;
  const bool local = type == "sliding_attention";
  const Number wavelength = encodes ? encoder_rope_max_wavelength.value_or(rope_max_wavelength) : rope_max_wavelength;
  const Number factor =
      encodes ? encoder_global_rope_scaling_factor.value_or(global_rope_scaling_factor) : global_rope_scaling_factor;
  out["rope_max_wavelength"] = local ? wavelength.value : kGlobalWavelength;
  out["rope_scaling_factor"] = local ? 1.0 : factor.value;
  out["use_query_key_norm"] = use_query_key_norm;
  return out;
}

TensorRef T5GemmaFamilyBackbone::embedded(Layer& embedding, const Side& side, const TensorRef& ids) {
  const Arg root = std::sqrt(static_cast<double>(side.hidden_dim.value));
  return operation("Multiply", Json::object(), {call(embedding, {ids}), root});
}

void T5GemmaFamilyBackbone::assemble() {
  const Sides in{tokens("encoder_token_ids"), tokens("encoder_padding_mask"), tokens("decoder_token_ids"),
                 tokens("decoder_padding_mask")};
  const Json rows = {{"input_dim", vocabulary_size.value},
                     {"embeddings_initializer", normal_initializer("RandomNormal", initializer_range)}};
  const auto embedding = [&](const char* class_name, const Side& side, Json further) -> Layer& {
    further.update(rows);
    further["output_dim"] = side.hidden_dim.value;
    return layer(class_name, fmt::format("{}_token_embedding", side.called), further);
  };
  const std::string prefix = is_second() ? "T5Gemma2" : "T5Gemma";
  const char* const norm_class = is_second() ? "Gemma3RMSNormalization" : "GemmaRMSNormalization";
  const auto all = [&](const std::string& class_name, const Side& side) {
    std::vector<Layer*> out;
    for (std::int64_t i = 0; i < side.num_layers; ++i)
      out.push_back(&layer(prefix + class_name, fmt::format("{}_layer_{}", side.called, i), block(side, i)));
    return out;
  };
  const Json norm = {{"epsilon", rms_norm_eps.value}}, rate = {{"rate", dropout.value}};
  // In the order of the constructor, which is that of the weights.
  Layer& encoder_rows = embedding("Embedding", encoder_, Json::object());
  Layer& decoder_rows = embedding("ReversibleEmbedding", decoder_, {{"tie_weights", tie_word_embeddings}});
  const std::vector<Layer*> encoder_layers = all("EncoderLayer", encoder_);
  Layer& encoder_norm = layer(norm_class, kEncoderNorm, norm);
  Layer& encoder_dropout = layer("Dropout", "dropout", rate);
  const std::vector<Layer*> decoder_layers = all("DecoderLayer", decoder_);
  Layer& decoder_norm = layer(norm_class, kDecoderNorm, norm);
  Layer& decoder_dropout = layer("Dropout", "dropout_1", rate);

  TensorRef encoded = call(encoder_dropout, {embedded(encoder_rows, encoder_, in.encoder_tokens)});
  for (Layer* each : encoder_layers) encoded = call(*each, {encoded}, {{"padding_mask", in.encoder_mask}});
  encoded = call(encoder_dropout, {call(encoder_norm, {encoded})});
  TensorRef x = call(decoder_dropout, {embedded(decoder_rows, decoder_, in.decoder_tokens)});
  for (Layer* each : decoder_layers)
    x = call(*each, {Arg(ArgList{x, encoded})},
             {{"self_attention_padding_mask", in.decoder_mask}, {"cross_attention_padding_mask", in.encoder_mask}});
  x = call(decoder_dropout, {call(decoder_norm, {x})});
  set_inputs({in.encoder_tokens, in.encoder_mask, in.decoder_tokens, in.decoder_mask});
  output_struct = ArgDict{{"encoder_sequence_output", encoded}, {"decoder_sequence_output", x}};
}

std::optional<Packing> T5GemmaFamilySeq2SeqLM::packing() const {
  return Packing{preprocessor() && preprocessor()->add_start_token, {SpecialToken::start}, false};
}

std::optional<double> T5GemmaFamilySeq2SeqLM::logits_cap() {
  const Json cap = backbone_value("final_logit_softcapping");
  return cap.is_null() ? std::nullopt : std::optional(cap.get<double>());
}

TensorPtr T5GemmaFamilySeq2SeqLM::embedded(Lowering& lowering, const std::string& side, const TensorPtr& tokens) {
  const Expression rows(lowering.builder(), call_layer(lowering, side + "_token_embedding", {tokens})->id);
  return Call::result(rows * std::sqrt(static_cast<double>(backbone_size(side + "_hidden_dim"))));
}

TensorPtr T5GemmaFamilySeq2SeqLM::encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) {
  TensorPtr x = embedded(lowering, "encoder", tokens);
  for (std::int64_t i = 0, count = backbone_size("encoder_num_layers"); i < count; ++i)
    x = call_layer(lowering, fmt::format("encoder_layer_{}", i), {x}, {{"padding_mask", mask}});
  return call_layer(lowering, kEncoderNorm, {x});
}

TensorPtr T5GemmaFamilySeq2SeqLM::decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                                                const TensorPtr& mask) {
  TensorPtr x = embedded(lowering, "decoder", tokens);
  for (std::int64_t i = 0, count = backbone_size("decoder_num_layers"); i < count; ++i)
    x = call_layer(lowering, fmt::format("decoder_layer_{}", i), {Arg(ArgList{x, encoded})},
                   {{"cross_attention_padding_mask", mask}});
  return call_layer(lowering, kDecoderNorm, {x});
}

}  // namespace attn::keras
