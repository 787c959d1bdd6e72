// Whisper, which transcribes speech (keras_hub/src/models/whisper). KerasHub has no task for it: the logits are the
// decoder's results times the token embeddings, as in transformers.
//
// Letters: B batch, T frames of the log-mel spectrogram, M mel frequencies, D features.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "attn/base/error.h"
#include "attn/graph/graph.h"
#include "classes/decoding.h"
#include "classes/layers/attention/cached_attention.h"
#include "classes/layers/keras_hub/transformer_blocks.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/sound/audio_converters.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/autoregressive.h"
#include "model/backbones/text.h"
#include "model/variables.h"

namespace attn::keras::whisper {
namespace {

constexpr const char *kAttention = "WhisperCachedMultiHeadAttention", *kEncoder = "transformer_encoder_layer_{}",
                     *kDecoder = "transformer_decoder_layer_{}",
                     *kDecoderEmbedding = "decoder_token_and_position_embedding";

/// Adds a frame of zeros at both ends.
class Padder final : public Layer {
 public:
  Arg call(Call& call) override {
    const graph::Pad pad{graph::PadMode::constant, {0, 1, 0}, {0, 1, 0}, 0.0};
    const graph::ValueId x = call.tensor("inputs")->id;
    if (call.shape("inputs").rank() != 3) throw bad_input("expected frames (batch, length, features)");
    return Call::result(call.builder().apply(pad, {x}));
  }
};

class WhisperBackbone final : public TextBackbone, public Autoregressive {
 public:
  WhisperBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("num_mels", num_mels);
    f("dropout", dropout);
    f("max_encoder_sequence_length", max_encoder_sequence_length);
    f("max_decoder_sequence_length", max_decoder_sequence_length);
  }

  [[nodiscard]] bool has_encoder() const override { return true; }
  [[nodiscard]] bool reads_features() const override { return true; }
  [[nodiscard]] std::optional<EncoderFeatures> features(Dim length) const override {
    return EncoderFeatures{num_mels, (length + 1) / 2};
  }
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override {
    const TensorPtr tokens = Call::result(token_ids);
    TensorPtr encoded = tokens;  // a placeholder: not read if the encoder's keys and values are cached
    if (lowering.decoding->encoder->input) {
      Decoding* const decoding = std::exchange(lowering.decoding, nullptr);  // the encoder reads whole sequences
      encoded = encode(lowering, Call::result(*decoding->encoder->input));
      lowering.decoding = decoding;
    }
    TensorPtr x = apply(lowering, kDecoderEmbedding, {tokens});
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = apply(lowering, fmt::format(kDecoder, i), {}, {{"decoder_sequence", x}, {"encoder_sequence", encoded}});
    x = apply(lowering, "decoder_layer_norm", {x});
    const graph::ValueId asked = every_position ? x->id : last_position(lowering.builder(), x->id);
    const Arg logits = lowering.apply(embedding(), ArgList{Call::result(asked)}, ArgDict{{"reverse", true}});
    return {(*logits.as<TensorPtr>())->id, x->id};
  }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
    if (max_encoder_sequence_length < 2) config["max_encoder_sequence_length"].fail("expected an integer > 1");
  }

  void assemble() override {
    Layer& convolution_1 = convolution("encoder_token_embedding_conv_layer_1", 1, "same");
    Layer& convolution_2 = convolution("encoder_token_embedding_conv_layer_2", 2, "valid");
    Layer& padder = layer("Padder", "encoder_padder", Json::object());
    Layer& position = layer(
        "PositionEmbedding", "encoder_position_embedding",
        {{"initializer", initializer()}, {"sequence_length", max_encoder_sequence_length / 2}, {"trainable", false}});
    Layer& add = layer("Add", "encoder_embeddings_add", Json::object());
    Layer& encoder_dropout = layer("Dropout", "encoder_embeddings_dropout", {{"rate", dropout.value}});
    make_blocks("WhisperEncoder", kEncoder);
    Layer& encoder_norm = norm("encoder_layer_norm");
    Layer& embeddings = layer("TokenAndPositionEmbedding", kDecoderEmbedding,
                              {{"vocabulary_size", vocabulary_size.value},
                               {"sequence_length", max_decoder_sequence_length.value},
                               {"embedding_dim", hidden_dim.value},
                               {"embeddings_initializer", initializer()}});
    Layer& decoder_dropout = layer("Dropout", "decoder_embeddings_dropout", {{"rate", dropout.value}});
    make_blocks("WhisperDecoder", kDecoder);
    Layer& decoder_norm = norm("decoder_layer_norm");
    const TensorRef features = input("encoder_features", {kUnknown, kUnknown, num_mels}, DType::float32);
    const TensorRef ids = tokens("decoder_token_ids"), mask = tokens("decoder_padding_mask");

    TensorRef x = operation("Gelu", {{"approximate", false}}, {call(convolution_1, {features})});
    x = operation("Gelu", {{"approximate", false}}, {call(convolution_2, {call(padder, {x})})});
    x = call(encoder_dropout, {call(add, {Arg(ArgList{x, call(position, {x})})})});
    for (std::int64_t i = 0; i < num_layers; ++i) x = call(*find(fmt::format(kEncoder, i)), {x});
    const TensorRef encoded = call(encoder_norm, {x});
    x = call(decoder_dropout, {call(embeddings, {ids})});
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call(*find(fmt::format(kDecoder, i)), {},
               {{"decoder_sequence", x}, {"encoder_sequence", encoded}, {"decoder_padding_mask", mask}});
    set_inputs({features, ids, mask});
    output_struct = ArgDict{{"encoder_sequence_output", encoded}, {"decoder_sequence_output", call(decoder_norm, {x})}};
  }

 private:
  static Json initializer() { return normal_initializer("TruncatedNormal", 0.02); }
  Layer& norm(const char* called) { return layer("LayerNormalization", called, {{"axis", -1}, {"epsilon", 1e-5}}); }
  Layer& convolution(const char* called, int stride, const char* padding) {
    return layer("Conv1D", called,
                 {{"filters", hidden_dim.value}, {"kernel_size", 3}, {"strides", stride}, {"padding", padding}});
  }
  void make_blocks(const char* class_name, const char* called) {
    for (std::int64_t i = 0; i < num_layers; ++i)
      layer(class_name, fmt::format(fmt::runtime(called), i),
            {{"num_heads", num_heads.value},
             {"intermediate_dim", intermediate_dim.value},
             {"activation", "gelu"},
             {"layer_norm_epsilon", 1e-5},
             {"dropout", dropout.value},
             {"kernel_initializer", initializer()},
             {"normalize_first", true}});
  }

  TensorPtr apply(Lowering& lowering, const std::string& called, ArgList args, ArgDict kwargs = {}) {
    return tensors_of(lowering.apply(*find(called), std::move(args), std::move(kwargs))).front();
  }
  /// Encodes features (B,T,M).
  TensorPtr encode(Lowering& lowering, const TensorPtr& given) {
    graph::Builder& b = lowering.builder();
    const auto active = [&](const TensorPtr& x) { return Call::result(b.unary(graph::UnaryFn::gelu, x->id)); };
    TensorPtr x = active(apply(lowering, "encoder_token_embedding_conv_layer_1", {given}));
    x = active(apply(lowering, "encoder_token_embedding_conv_layer_2", {apply(lowering, "encoder_padder", {x})}));
    const TensorPtr positions = apply(lowering, "encoder_position_embedding", {x});
    x = apply(lowering, "encoder_embeddings_add", {Arg(ArgList{x, positions})});
    for (std::int64_t i = 0; i < num_layers; ++i) x = apply(lowering, fmt::format(kEncoder, i), {x});
    return apply(lowering, "encoder_layer_norm", {x});
  }
  Layer& embedding() {
    Layer* found = nullptr;
    visit_layers(*find(kDecoderEmbedding), [&](Layer& layer) {
      if (layer.name == "token_embedding") found = &layer;
    });
    return *found;
  }

  Positive num_heads, num_mels = 80, max_encoder_sequence_length = 3000, max_decoder_sequence_length = 448;
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
      map.unsupported(*own, "a decoder of another size than the encoder");
    }
  }
  map.same("num_mels", "num_mel_bins", 80);
  map.same("dropout", "dropout", 0.0);
  map.times("max_encoder_sequence_length", "max_source_positions", 2);
  map.same("max_decoder_sequence_length", "max_target_positions", 448);
  map.fixed("activation_function", {"gelu"});
  map.fixed("scale_embedding", {false});
  map.fixed("is_encoder_decoder", {true});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "Padder",
              .make = make_layer<Padder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.whisper.whisper_backbone",
              .role = Role::arrangement},
    ClassInfo{.name = kAttention,
              .make = make_cached_attention_without_key_bias,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.whisper.whisper_cached_multi_head_attention",
              .role = Role::attention,
              .package = "keras_hub",
              .symbols = kMultiHeadSymbols},
    ClassInfo{.name = "WhisperAudioConverter",
              .make = make_whisper_audio_converter,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.whisper.whisper_audio_converter",
              .role = Role::arrangement,
              .package = "keras_hub"},
    ClassInfo{.name = "WhisperEncoder",
              .make = [] { return make_transformer_encoder(kAttention); },
              .since = kAnyKeras,
              .module = "keras_hub.src.models.whisper.whisper_encoder",
              .role = Role::transformer,
              .package = "keras_hub"},
    ClassInfo{.name = "WhisperDecoder",
              .make = [] { return make_transformer_decoder(kAttention); },
              .since = kAnyKeras,
              .module = "keras_hub.src.models.whisper.whisper_decoder",
              .role = Role::transformer,
              .package = "keras_hub"},
};

constexpr std::array kModels = {
    model_record<WhisperBackbone>("WhisperBackbone", "keras_hub.src.models.whisper.whisper_backbone"),
};

constexpr std::array kHeads{Head{"ForConditionalGeneration", kBackboneHead}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "whisper",
                     .stem = "Whisper",
                     .architecture = "Whisper",
                     .sizes = sizes,
                     .is_converted = false,
                     .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 50> kNames{{
    {"encoder_token_embedding_conv_layer_1/kernel", "encoder.conv1.weight", kConvolution},
    {"encoder_token_embedding_conv_layer_1/bias", "encoder.conv1.bias", kSame},
    {"encoder_token_embedding_conv_layer_2/kernel", "encoder.conv2.weight", kConvolution},
    {"encoder_token_embedding_conv_layer_2/bias", "encoder.conv2.bias", kSame},
    {"encoder_position_embedding/embeddings", "encoder.embed_positions.weight", kSame},
    {"transformer_encoder_layer_{}/self_attention_layer/query/kernel", "encoder.layers.{}.self_attn.q_proj.weight",
     kLinear},
    {"transformer_encoder_layer_{}/self_attention_layer/query/bias", "encoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"transformer_encoder_layer_{}/self_attention_layer/key/kernel", "encoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
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
    {"transformer_encoder_layer_{}/feedforward_layer_norm/gamma", "encoder.layers.{}.final_layer_norm.weight", kSame},
    {"transformer_encoder_layer_{}/feedforward_layer_norm/beta", "encoder.layers.{}.final_layer_norm.bias", kSame},
    {"transformer_encoder_layer_{}/feedforward_intermediate_dense/kernel", "encoder.layers.{}.fc1.weight", kLinear},
    {"transformer_encoder_layer_{}/feedforward_intermediate_dense/bias", "encoder.layers.{}.fc1.bias", kSame},
    {"transformer_encoder_layer_{}/feedforward_output_dense/kernel", "encoder.layers.{}.fc2.weight", kLinear},
    {"transformer_encoder_layer_{}/feedforward_output_dense/bias", "encoder.layers.{}.fc2.bias", kSame},
    {"encoder_layer_norm/gamma", "encoder.layer_norm.weight", kSame},
    {"encoder_layer_norm/beta", "encoder.layer_norm.bias", kSame},
    {"decoder_token_and_position_embedding/token_embedding/embeddings", "decoder.embed_tokens.weight", kSame},
    {"decoder_token_and_position_embedding/position_embedding/embeddings", "decoder.embed_positions.weight", kSame},
    {"transformer_decoder_layer_{}/self_attention/query/kernel", "decoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_decoder_layer_{}/self_attention/query/bias", "decoder.layers.{}.self_attn.q_proj.bias", kVector},
    {"transformer_decoder_layer_{}/self_attention/key/kernel", "decoder.layers.{}.self_attn.k_proj.weight", kLinear},
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
    {"decoder_layer_norm/gamma", "decoder.layer_norm.weight", kSame},
    {"decoder_layer_norm/beta", "decoder.layer_norm.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"WhisperBackbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 3> kTaskTokens{"<|notimestamps|>", "<|translate|>", "<|transcribe|>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "WhisperTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = "<|startoftranscript|>",
               .end = kTextToken,
               .pad = kTextToken,
               .more = kTaskTokens,
               .words = tokenizers::kGpt2Words,
               .states_specials = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "whisper", .keras_class = "WhisperTokenizer", .is_converted = false},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "whisper",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::whisper
