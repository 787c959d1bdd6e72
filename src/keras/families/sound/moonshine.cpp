// Moonshine, which transcribes speech from samples (keras_hub/src/models/moonshine).
//
// Letters: B batch, N samples, T encoded positions, D features.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/graph/graph.h"
#include "classes/decoding.h"
#include "families/blocks/automatic_names.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/sound/moonshine_layers.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/backbone.h"
#include "model/tasks/seq_2_seq_lm.h"

namespace attn::keras::moonshine {
namespace {

constexpr std::array<const char*, 7> kExtractor = {
    "conv1", "tanh_after_conv1", "group_norm", "conv2", "gelu_after_conv2", "conv3", "gelu_after_conv3"};
constexpr const char *kEncoder = "encoder_block_{}", *kDecoder = "decoder_block_{}";

/// A convolution of the extractor without padding.
struct Window {
  Dim size, stride;
};
constexpr std::array kWindows = {Window{127, 64}, Window{7, 3}, Window{3, 2}};

class MoonshineBackbone final : public Backbone {
 public:
  /// KerasHub writes the name of the dtype instead of a policy.
  void config(Fields& f) override {
    f("name", name);
    f("trainable", trainable);
    if (f.reading()) {
      f("dtype", policy);
    } else {
      f.put("dtype", name_of(policy.variable));
    }
    fields(f);
  }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("filter_dim", filter_dim);
    f.required("encoder_num_layers", encoder_num_layers);
    f.required("decoder_num_layers", decoder_num_layers);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("encoder_num_heads", encoder_num_heads);
    f.required("decoder_num_heads", decoder_num_heads);
    f("feedforward_expansion_factor", feedforward_expansion_factor);
    f("encoder_use_swiglu_activation", encoder_use_swiglu_activation);
    f("decoder_use_swiglu_activation", decoder_use_swiglu_activation);
    f("max_position_embeddings", max_position_embeddings);
    f("pad_head_dim_to_multiple_of", pad_head_dim_to_multiple_of);
    f("partial_rotary_factor", partial_rotary_factor);
    f("dropout", dropout);
    f("initializer_range", initializer_range);
    f("rope_theta", rope_theta);
    f("attention_bias", attention_bias);
    f("attention_dropout", attention_dropout);
  }

 protected:
  void check_fields(const Ref& config) override {
    for (const auto& [key, value] :
         {std::pair("dropout", &dropout), std::pair("attention_dropout", &attention_dropout)})
      if (*value < 0.0 || *value > 1.0) config[key].fail("expected a number from 0 to 1, got " + config[key].kind());
    for (const auto& [key, count] : {std::pair("encoder_num_layers", encoder_num_layers.value),
                                     std::pair("decoder_num_layers", decoder_num_layers.value)})
      if (count > kMaxBlocks) config[key].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
    for (const auto& [key, heads] : {std::pair("encoder_num_heads", encoder_num_heads.value),
                                     std::pair("decoder_num_heads", decoder_num_heads.value)})
      if (hidden_dim < heads)
        config[key].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, heads));
    if (!(partial_rotary_factor > 0.0 && partial_rotary_factor <= 1.0))
      config["partial_rotary_factor"].fail("expected a number above 0 and up to 1");
    if (!(rope_theta > 0.0)) config["rope_theta"].fail("expected a number > 0");
  }

  void assemble() override {
    Layer& mask_layer = layer("ComputeAttentionMask", "compute_attention_mask", Json::object());
    make_extractor();
    layer("ReversibleEmbedding", "token_embedding",
          {{"input_dim", vocabulary_size.value},
           {"output_dim", hidden_dim.value},
           {"embeddings_initializer", initializer()}});
    make_rotary("encoder_rotary_embedding", head_dim(encoder_num_heads));
    make_rotary("decoder_rotary_embedding", head_dim(decoder_num_heads));
    layer("Dropout", "encoder_dropout", {{"rate", dropout.value}});
    layer("Dropout", "decoder_dropout", {{"rate", dropout.value}});
    for (std::int64_t i = 0; i < encoder_num_layers; ++i)
      layer("MoonshineEncoderBlock", fmt::format(kEncoder, i),
            block_arguments(encoder_num_heads, encoder_use_swiglu_activation));
    make_norm("encoder_final_layer_norm");
    make_decoder_blocks();
    make_norm("decoder_post_norm");
    const TensorRef samples = input("encoder_input_values", {kUnknown, kUnknown, 1}, policy.variable);
    const TensorRef padding = input("encoder_padding_mask", {kUnknown, kUnknown}, DType::boolean);
    const TensorRef ids = input("decoder_token_ids", {kUnknown, kUnknown}, DType::int32);
    const TensorRef decoder_padding = input("decoder_padding_mask", {kUnknown, kUnknown}, DType::boolean);

    TensorRef x = samples;
    for (const char* part : kExtractor) x = call(*find(part), {x});
    const TensorRef mask = call(mask_layer, {x, output_lengths(padding)});
    const TensorRef encoder_rotary = rotary("encoder", x);
    x = call(*find("encoder_dropout"), {x});
    for (std::int64_t i = 0; i < encoder_num_layers; ++i)
      x = call(*find(fmt::format(kEncoder, i)), {x, encoder_rotary}, {{"attention_mask", mask}});
    const TensorRef encoded = call(*find("encoder_final_layer_norm"), {x});
    const TensorRef decoder_rotary = rotary("decoder", ids);
    x = call(*find("decoder_dropout"), {call(*find("token_embedding"), {ids})});
    for (std::int64_t i = 0; i < decoder_num_layers; ++i)
      x = call(*find(fmt::format(kDecoder, i)), {},
               {{"decoder_sequence", x},
                {"encoder_sequence", encoded},
                {"rotary_embedding", decoder_rotary},
                {"decoder_padding_mask", decoder_padding},
                {"encoder_padding_mask", mask}});
    input_struct = ArgDict{{"encoder_input_values", samples},
                           {"encoder_padding_mask", padding},
                           {"decoder_token_ids", ids},
                           {"decoder_padding_mask", decoder_padding}};
    output_struct = ArgDict{{"encoder_sequence_output", encoded},
                            {"decoder_sequence_output", call(*find("decoder_post_norm"), {x})},
                            {"encoder_attention_mask", mask}};
  }

 private:
  [[nodiscard]] Json initializer() const { return normal_initializer("TruncatedNormal", initializer_range); }
  [[nodiscard]] std::int64_t head_dim(std::int64_t heads) const {
    const std::int64_t size = hidden_dim / heads;
    if (!pad_head_dim_to_multiple_of) return size;
    const std::int64_t step = *pad_head_dim_to_multiple_of;
    return (size - 1) / step * step + step;
  }
  void make_extractor() {
    const auto convolution = [&](std::size_t i, std::int64_t filters) {
      layer("Conv1D", fmt::format("conv{}", i + 1),
            {{"filters", filters},
             {"kernel_size", kWindows[i].size},
             {"strides", kWindows[i].stride},
             {"use_bias", i > 0},
             {"kernel_initializer", initializer()}});
    };
    convolution(0, filter_dim);
    layer("GroupNormalization", "group_norm", {{"groups", 1}, {"epsilon", 1e-5}});
    layer("Activation", "tanh_after_conv1", {{"activation", "tanh"}});
    convolution(1, 2 * filter_dim);
    layer("Activation", "gelu_after_conv2", {{"activation", "gelu"}});
    convolution(2, filter_dim);
    layer("Activation", "gelu_after_conv3", {{"activation", "gelu"}});
  }
  void make_rotary(const char* called, std::int64_t size) {
    layer("MoonshineRotaryEmbedding", called,
          {{"head_dim", size},
           {"max_position_embeddings", max_position_embeddings.value},
           {"partial_rotary_factor", partial_rotary_factor.value},
           {"base_value", rope_theta.value}});
  }
  void make_norm(const char* called) { layer("LayerNormalization", called, {{"epsilon", 1e-5}, {"center", false}}); }
  [[nodiscard]] Json block_arguments(std::int64_t heads, bool swiglu) const {
    return {{"hidden_dim", hidden_dim.value},   {"num_heads", heads},
            {"head_dim", head_dim(heads)},      {"feedforward_expansion_factor", feedforward_expansion_factor.value},
            {"use_swiglu_activation", swiglu},  {"initializer_range", initializer_range.value},
            {"attention_bias", attention_bias}, {"attention_dropout", attention_dropout.value}};
  }
  /// KerasHub names the parts of the encoder's blocks, but not those of the decoder's.
  void make_decoder_blocks() {
    constexpr std::array<std::string_view, 6> kParts = {"LayerNormalization", "MoonshineMultiHeadAttention",
                                                        "LayerNormalization", "MoonshineMultiHeadAttention",
                                                        "LayerNormalization", "MoonshineMLP"};
    AutomaticNames names;
    for (std::int64_t i = 0; i < decoder_num_layers; ++i) {
      Json arguments = block_arguments(decoder_num_heads, decoder_use_swiglu_activation);
      arguments["part_names"] = names.of(kParts);
      layer("MoonshineDecoderBlock", fmt::format(kDecoder, i), std::move(arguments));
    }
  }

  /// Returns the angles of the positions in x.
  TensorRef rotary(const std::string& side, const TensorRef& x) {
    return call(*find(side + "_rotary_embedding"), {call("MoonshineArange", side + "_positions", Json::object(), {x})});
  }
  /// Returns the lengths (B) of the encoded sequences for the mask (B,N) of the samples.
  TensorRef output_lengths(const TensorRef& padding) {
    const auto cast = [&](const TensorRef& x, const char* dtype) { return operation("Cast", {{"dtype", dtype}}, {x}); };
    const TensorRef sums = operation("Sum", {{"axis", 1}, {"keepdims", false}}, {cast(padding, "int32")});
    TensorRef lengths = cast(sums, "float32");
    for (const auto& [size, stride] : kWindows) {
      lengths =
          operation("TrueDivide", Json::object(), {operation("Subtract", Json::object(), {lengths, size}), stride});
      lengths = operation("Add", Json::object(), {operation("Floor", Json::object(), {lengths}), std::int64_t{1}});
    }
    return operation("Maximum", Json::object(), {cast(lengths, "int32"), std::int64_t{0}});
  }

  Positive vocabulary_size, filter_dim, encoder_num_layers, decoder_num_layers, hidden_dim, intermediate_dim,
      encoder_num_heads, decoder_num_heads, feedforward_expansion_factor = 4, max_position_embeddings = 2048;
  bool encoder_use_swiglu_activation = false, decoder_use_swiglu_activation = true, attention_bias = false;
  std::optional<Positive> pad_head_dim_to_multiple_of;
  Number partial_rotary_factor{0.62}, dropout{0.0}, initializer_range{0.02}, rope_theta{10000.0},
      attention_dropout{0.0};
};

class MoonshineAudioToText final : public Seq2SeqLM {
 public:
  [[nodiscard]] bool reads_features() const override { return true; }
  [[nodiscard]] std::optional<EncoderFeatures> features(Dim length) const override {
    Dim encoded = length;
    for (const auto& [size, stride] : kWindows) encoded = encoded < size ? 0 : (encoded - size) / stride + 1;
    if (encoded < 1) throw bad_input("{} samples are too few for a Moonshine model", length);
    return EncoderFeatures{1, encoded};
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "AudioToText"; }
  TensorPtr encode(Lowering& lowering, const TensorPtr& input, const TensorPtr& /*mask*/) override {
    TensorPtr x = input;
    for (const char* part : kExtractor) x = call_layer(lowering, part, {x});
    graph::Builder& b = lowering.builder();
    const Dim length = b.shape(x->id)[1];
    const TensorPtr angles = rotary(lowering, "encoder", b.apply(graph::Iota{{length}, DType::int32, 0}, {}));
    for (std::int64_t i = 0, count = backbone_size("encoder_num_layers"); i < count; ++i)
      x = call_layer(lowering, fmt::format(kEncoder, i), {x, angles});
    return call_layer(lowering, "encoder_final_layer_norm", {x});
  }
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& /*mask*/) override {
    graph::Builder& b = lowering.builder();
    const graph::ValueId positions = lowering.decoding->positions;  // (1,T)
    const TensorPtr angles = rotary(lowering, "decoder", b.reshape(positions, {b.shape(positions)[1]}));
    TensorPtr x = call_layer(lowering, "token_embedding", {tokens});
    for (std::int64_t i = 0, count = backbone_size("decoder_num_layers"); i < count; ++i)
      x = call_layer(lowering, fmt::format(kDecoder, i), {},
                     {{"decoder_sequence", x}, {"encoder_sequence", encoded}, {"rotary_embedding", angles}});
    return call_layer(lowering, "decoder_post_norm", {x});
  }

 private:
  TensorPtr rotary(Lowering& lowering, const std::string& side, graph::ValueId positions) {
    return call_layer(lowering, side + "_rotary_embedding", {Call::result(positions)});
  }
};

/// The feed-forward layers of KerasHub are a multiple of the model's width.
void feed_forward(ConfigMap& map) {
  map.same("intermediate_dim", "intermediate_size", 1152);
  if (!map.reading()) {
    map.put("intermediate_size", map.of_keras("hidden_dim").get<std::int64_t>() *
                                     map.of_keras("feedforward_expansion_factor").get<std::int64_t>());
  } else {
    const std::int64_t width = map.integer("hidden_size"), inner = map.integer("intermediate_size", 1152);
    if (inner % width != 0)
      map.unsupported(*map.find("intermediate_size"), fmt::format("a width that is no multiple of {}", width));
    map.put("feedforward_expansion_factor", inner / width, "intermediate_size");
  }
  for (const auto& [key, hugging_face, gated, plain] :
       {std::tuple("encoder_use_swiglu_activation", "encoder_hidden_act", "silu", "gelu"),
        std::tuple("decoder_use_swiglu_activation", "decoder_hidden_act", "silu", "gelu")}) {
    // transformers has a gate in the decoder only.
    const bool swiglu = std::string_view(key).starts_with("decoder");
    map.fixed(hugging_face, {swiglu ? gated : plain});
    if (map.reading()) {
      map.put(key, swiglu);
    } else if (map.of_keras(key).get<bool>() != swiglu) {
      throw bad_input("transformers does not support the `{}` of this Moonshine", key);
    }
  }
}

/// transformers pads heads with zeros while it computes, which changes nothing.
void heads(ConfigMap& map) {
  for (const std::string side : {"encoder", "decoder"}) {
    const std::string count = side + "_num_attention_heads", shared = side + "_num_key_value_heads";
    map.same(side + "_num_heads", count, 8);
    if (!map.reading()) {
      map.put(shared, map.of_keras(side + "_num_heads"));
    } else if (const auto own = map.find(shared); own && own->json() != map.result()[side + "_num_heads"]) {
      map.unsupported(*own, "heads that share keys and values");
    }
  }
  if (!map.reading() && !map.of_keras("pad_head_dim_to_multiple_of").is_null())
    throw bad_input("transformers does not support the padded heads of this Moonshine");
}

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size", 32768);
  map.same("hidden_dim", "hidden_size", 288);
  if (map.reading()) map.put("filter_dim", map.result()["hidden_dim"], "hidden_size");
  if (!map.reading() && map.of_keras("filter_dim") != map.of_keras("hidden_dim"))
    throw bad_input("transformers needs a `filter_dim` that is equal to `hidden_dim`");
  map.same("encoder_num_layers", "encoder_num_hidden_layers", 6);
  map.same("decoder_num_layers", "decoder_num_hidden_layers", 6);
  feed_forward(map);
  heads(map);
  map.same("max_position_embeddings", "max_position_embeddings", 512);
  rope_theta(map, "rope_theta", 10000.0);
  if (map.reading()) {
    const auto rope = rope_parameters(map);
    const auto own = rope ? rope->find("partial_rotary_factor") : map.find("partial_rotary_factor");
    map.put("partial_rotary_factor", own && !own->is_null() ? own->json() : Json(0.9),
            own ? std::string_view(own->pointer()).substr(1) : "");
  } else {
    map.put("partial_rotary_factor", map.of_keras("partial_rotary_factor"));
  }
  map.same("attention_bias", "attention_bias", false);
  map.same("attention_dropout", "attention_dropout", 0.0);
  map.fixed("is_encoder_decoder", {true});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::array kModels = {
    model_record<MoonshineBackbone>("MoonshineBackbone", "keras_hub.src.models.moonshine.moonshine_backbone"),
    model_record<MoonshineAudioToText>("MoonshineAudioToText",
                                       "keras_hub.src.models.moonshine.moonshine_audio_to_text"),
};

constexpr std::array kHeads{Head{"ForConditionalGeneration", "AudioToText"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "moonshine",
                     .stem = "Moonshine",
                     .architecture = "Moonshine",
                     .sizes = sizes,
                     .is_converted = false,
                     .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 46> kNames{{
    {"conv1/kernel", "encoder.conv1.weight", kConvolution},
    {"group_norm/gamma", "encoder.groupnorm.weight", kSame},
    {"group_norm/beta", "encoder.groupnorm.bias", kSame},
    {"conv2/kernel", "encoder.conv2.weight", kConvolution},
    {"conv2/bias", "encoder.conv2.bias", kSame},
    {"conv3/kernel", "encoder.conv3.weight", kConvolution},
    {"conv3/bias", "encoder.conv3.bias", kSame},
    {"encoder_rotary_embedding/inv_freq", "", kSame},
    {"decoder_rotary_embedding/inv_freq", "", kSame},
    {"encoder_block_{}/self_attention_layer/query/kernel", "encoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"encoder_block_{}/self_attention_layer/query/bias", "encoder.layers.{}.self_attn.q_proj.bias", kVector},
    {"encoder_block_{}/self_attention_layer/key/kernel", "encoder.layers.{}.self_attn.k_proj.weight", kLinear},
    {"encoder_block_{}/self_attention_layer/key/bias", "encoder.layers.{}.self_attn.k_proj.bias", kVector},
    {"encoder_block_{}/self_attention_layer/value/kernel", "encoder.layers.{}.self_attn.v_proj.weight", kLinear},
    {"encoder_block_{}/self_attention_layer/value/bias", "encoder.layers.{}.self_attn.v_proj.bias", kVector},
    {"encoder_block_{}/self_attention_layer/attention_output/kernel", "encoder.layers.{}.self_attn.o_proj.weight",
     kFromHeads},
    {"encoder_block_{}/self_attention_layer_norm/gamma", "encoder.layers.{}.input_layernorm.weight", kSame},
    {"encoder_block_{}/feedforward_layer_norm/gamma", "encoder.layers.{}.post_attention_layernorm.weight", kSame},
    {"encoder_block_{}/feedforward/dense_1/kernel", "encoder.layers.{}.mlp.fc1.weight", kLinear},
    {"encoder_block_{}/feedforward/dense_1/bias", "encoder.layers.{}.mlp.fc1.bias", kSame},
    {"encoder_block_{}/feedforward/dense_2/kernel", "encoder.layers.{}.mlp.fc2.weight", kLinear},
    {"encoder_block_{}/feedforward/dense_2/bias", "encoder.layers.{}.mlp.fc2.bias", kSame},
    {"encoder_final_layer_norm/gamma", "encoder.layer_norm.weight", kSame},
    {"token_embedding/embeddings", "decoder.embed_tokens.weight", kSame},
    {"decoder_block_{}/layer_normalization/gamma#0", "decoder.layers.{}.input_layernorm.weight", kSame},
    {"decoder_block_{}/moonshine_multi_head_attention/query/kernel#0", "decoder.layers.{}.self_attn.q_proj.weight",
     kLinear},
    {"decoder_block_{}/moonshine_multi_head_attention/query/bias#0", "decoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"decoder_block_{}/moonshine_multi_head_attention/key/kernel#0", "decoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
    {"decoder_block_{}/moonshine_multi_head_attention/key/bias#0", "decoder.layers.{}.self_attn.k_proj.bias", kVector},
    {"decoder_block_{}/moonshine_multi_head_attention/value/kernel#0", "decoder.layers.{}.self_attn.v_proj.weight",
     kLinear},
    {"decoder_block_{}/moonshine_multi_head_attention/value/bias#0", "decoder.layers.{}.self_attn.v_proj.bias",
     kVector},
    {"decoder_block_{}/moonshine_multi_head_attention/attention_output/kernel#0",
     "decoder.layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"decoder_block_{}/layer_normalization/gamma#1", "decoder.layers.{}.post_attention_layernorm.weight", kSame},
    {"decoder_block_{}/moonshine_multi_head_attention/query/kernel#1", "decoder.layers.{}.encoder_attn.q_proj.weight",
     kLinear},
    {"decoder_block_{}/moonshine_multi_head_attention/query/bias#1", "decoder.layers.{}.encoder_attn.q_proj.bias",
     kVector},
    {"decoder_block_{}/moonshine_multi_head_attention/key/kernel#1", "decoder.layers.{}.encoder_attn.k_proj.weight",
     kLinear},
    {"decoder_block_{}/moonshine_multi_head_attention/key/bias#1", "decoder.layers.{}.encoder_attn.k_proj.bias",
     kVector},
    {"decoder_block_{}/moonshine_multi_head_attention/value/kernel#1", "decoder.layers.{}.encoder_attn.v_proj.weight",
     kLinear},
    {"decoder_block_{}/moonshine_multi_head_attention/value/bias#1", "decoder.layers.{}.encoder_attn.v_proj.bias",
     kVector},
    {"decoder_block_{}/moonshine_multi_head_attention/attention_output/kernel#1",
     "decoder.layers.{}.encoder_attn.o_proj.weight", kFromHeads},
    {"decoder_block_{}/layer_normalization/gamma#2", "decoder.layers.{}.final_layernorm.weight", kSame},
    {"decoder_block_{}/moonshine_mlp/dense_1/kernel", "decoder.layers.{}.mlp.fc1.weight", kLinear},
    {"decoder_block_{}/moonshine_mlp/dense_1/bias", "decoder.layers.{}.mlp.fc1.bias", kSame},
    {"decoder_block_{}/moonshine_mlp/dense_2/kernel", "decoder.layers.{}.mlp.fc2.weight", kLinear},
    {"decoder_block_{}/moonshine_mlp/dense_2/bias", "decoder.layers.{}.mlp.fc2.bias", kSame},
    {"decoder_post_norm/gamma", "decoder.norm.weight", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"MoonshineBackbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "MoonshineTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kEndToken,
               .transformers_class = "LlamaTokenizer",
               .transformers_file = "tokenizer.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "moonshine", .keras_class = "MoonshineTokenizer", .is_converted = false},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "moonshine",
                                       .layers = kMoonshineLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::moonshine
