// Gemma 3n (keras_hub/src/models/gemma3n).
//
// Letters: B batch, T tokens, I images or sounds of an entry, S steps of a spectrogram, F its features.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/class_table.h"
#include "classes/decoding.h"
#include "classes/ops/expression.h"
#include "classes/ops/ops.h"
#include "classes/reading.h"
#include "families/blocks/decoders/gemma3n_attention.h"
#include "families/blocks/decoders/gemma3n_block.h"
#include "families/blocks/decoders/gemma3n_processor.h"
#include "families/blocks/sound/gemma3n_audio.h"
#include "families/blocks/sound/gemma3n_conformer.h"
#include "families/blocks/sound/gemma_audio_converters.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/autoregressive.h"
#include "model/backbones/text.h"
#include "model/input_layer.h"
#include "model/multimodal.h"
#include "model/sized_inputs.h"
#include "model/tasks/task.h"

namespace attn::keras::gemma3n {
namespace {

constexpr std::string_view kTextModule = "keras_hub.src.models.gemma3n.gemma3n_text_layers",
                           kAttentionModule = "keras_hub.src.models.gemma3n.gemma3n_attention",
                           kAudioModule = "keras_hub.src.models.gemma3n.gemma3n_audio_layers",
                           kEncoderModule = "keras_hub.src.models.gemma3n.gemma3n_audio_encoder";

/// Two layers: one that looks up tokens, images and sounds, and the text model.
class Gemma3nBackbone final : public TextBackbone, public SizedInputs {
 public:
  Gemma3nBackbone() { dropout = 0; }
  void fields(Fields& f) override {
    f.required("text_vocab_size", vocabulary_size);
    f.required("text_hidden_size", hidden_dim);
    f.required("num_hidden_layers", num_layers);
    f.required("pad_token_id", pad_token_id);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("head_dim", head_dim);
    f.required("intermediate_size", intermediate_size);
    f.required("hidden_activation", hidden_activation);
    f.required("layer_types", layer_types);
    f.required("sliding_window", sliding_window);
    f.required("rope_theta", rope_theta);
    f.required("max_position_embeddings", max_position_embeddings);
    f.required("vocab_size_per_layer_input", vocab_size_per_layer_input);
    f.required("hidden_size_per_layer_input", hidden_size_per_layer_input);
    f.required("altup_num_inputs", altup_num_inputs);
    f.required("laurel_rank", laurel_rank);
    f("attention_bias", attention_bias);
    f("attention_dropout", attention_dropout);
    f("rope_scaling", rope_scaling);
    f("rope_local_base_freq", rope_local_base_freq);
    f("activation_sparsity_pattern", activation_sparsity_pattern);
    f("altup_coef_clip", altup_coef_clip);
    f("altup_active_idx", altup_active_idx);
    f("altup_correct_scale", altup_correct_scale);
    f("num_kv_shared_layers", num_kv_shared_layers);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("vision_encoder_config", vision_encoder_config);
    f("vision_hidden_size", vision_hidden_size);
    f("vision_vocab_size", vision_vocab_size);
    f("vision_vocab_offset", vision_vocab_offset);
    f("vision_soft_tokens_per_image", vision_soft_tokens_per_image);
    f("image_token_id", image_token_id);
    encoder_field(f, "audio_encoder_config", audio_encoder_config);
    f("audio_hidden_size", audio_hidden_size);
    f("audio_vocab_size", audio_vocab_size);
    f("audio_vocab_offset", audio_vocab_offset);
    f("audio_soft_tokens_per_image", audio_soft_tokens_per_image);
    f("audio_token_id", audio_token_id);
    f("rms_norm_eps", rms_norm_eps);
  }
  [[nodiscard]] Gemma3nTextModel& text_model() const { return *processor_->model; }
  [[nodiscard]] Gemma3nProcessor& processor() const { return *processor_; }
  /// Without arrays, there are one image and one short sound.
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override {
    constexpr Dim kSteps = 64;
    const bool is_sound = input.starts_with("input_features");
    if (axis == 1 && (is_sound || input == "images")) return 1;
    return axis == 2 && is_sound ? std::optional<Dim>(kSteps) : std::nullopt;
  }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    const auto check_encoder = [&](const char* key, const Json& encoder, std::string_view wanted) {
      if (!encoder.is_null() && !encoder.is_object())
        config[key].fail(fmt::format("expected the config of a {}, or null", wanted));
    };
    check_encoder("vision_encoder_config", vision_encoder_config.json, "MobileNetV5Backbone");
    check_encoder("audio_encoder_config", audio_encoder_config, "Gemma3nAudioEncoder");
    constexpr std::int64_t kLastToken = std::numeric_limits<std::int32_t>::max();
    const auto check_tokens = [&](const std::string& of, std::int64_t size, std::int64_t offset) {
      if (size > kLastToken) config[of + "_vocab_size"].fail("expected less than 2^31");
      if (offset < 0 || offset > kLastToken - size)
        config[of + "_vocab_offset"].fail("expected tokens from 0 to 2^31 - 1");
    };
    check_tokens("vision", vision_vocab_size, vision_vocab_offset);
    check_tokens("audio", audio_vocab_size, audio_vocab_offset);
    for (const auto& [key, token] : {std::pair("image_token_id", image_token_id), {"audio_token_id", audio_token_id}})
      if (token < 0 || token > kLastToken) config[key].fail("expected a token below 2^31");
    constexpr std::int64_t kMostRows = 1 << 16;
    if (audio_soft_tokens_per_image > kMostRows)
      config["audio_soft_tokens_per_image"].fail(fmt::format("expected at most {}", kMostRows));
  }

  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"),
                    padding_mask = input("padding_mask", {kUnknown, kUnknown}, DType::boolean);
    auto& processor =
        dynamic_cast<Gemma3nProcessor&>(layer("Gemma3nMultimodalEmbeddingProcessor", "multimodal_embedding_processor",
                                              {{"vision_soft_tokens_per_image", vision_soft_tokens_per_image.json},
                                               {"audio_soft_tokens_per_image", audio_soft_tokens_per_image.value},
                                               {"image_token_id", image_token_id},
                                               {"audio_token_id", audio_token_id},
                                               {"vocab_size_per_layer_input", vocab_size_per_layer_input.value}}));
    processor.model = &dynamic_cast<Gemma3nTextModel&>(layer("Gemma3nTextModel", "text_model", text_arguments()));
    processor_ = &processor;
    ArgDict given = {{"token_ids", token_ids}};
    std::vector<TensorRef> all = {token_ids, padding_mask};
    const auto add = [&](const char* called, const char* argument, const Shape& item, DType dtype) {
      Shape shape{kUnknown, kUnknown};
      shape.append(item);
      all.push_back(input(called, shape, dtype));
      given.emplace_back(argument, all.back());
    };
    if (!vision_encoder_config.json.empty()) {
      processor.vision = vision();
      add("images", "pixel_values", processor.vision.item, DType::float32);
    }
    if (!audio_encoder_config.empty()) {
      processor.audio = audio();
      add("input_features", "input_features", processor.audio.item, DType::float32);
      add("input_features_mask", "input_features_mask", {kUnknown}, DType::boolean);
    }
    const TensorRef rows = call(processor, {given});
    TensorRef inputs = rows;
    inputs.tensor = 1;
    set_inputs(all);
    output_struct = call(*processor.model, {token_ids, padding_mask, rows, inputs});
  }

 private:
  /// Reads or writes the config of an encoder, with its dtype. The encoder checks the other keys.
  static void encoder_field(Fields& f, const char* key, Json& encoder) {
    if (!f.reading()) return f.put(key, encoder);
    if (const auto given = f.take(key)) encoder = given->json();
  }
  /// Makes an encoder, with the name and the dtype that KerasHub gives it.
  [[nodiscard]] LayerPtr make_encoder(std::string_view class_name, Json arguments, std::string_view otherwise) const {
    const auto named = arguments.find("name");
    const std::string called =
        named != arguments.end() && named->is_string() ? named->get<std::string>() : std::string(otherwise);
    return make_sublayer(*this, class_name, called, std::move(arguments));
  }
  [[nodiscard]] LayerPtr make_embedder(const char* called, std::int64_t width, const Gemma3nEncoder& of) const {
    return make_sublayer(*this, "Gemma3nMultimodalEmbedder", called,
                         {{"multimodal_hidden_size", width},
                          {"text_hidden_size", hidden_dim.value},
                          {"rms_norm_eps", rms_norm_eps.value},
                          {"vocab_offset", of.first},
                          {"vocab_size", of.count}});
  }

  [[nodiscard]] Gemma3nEncoder vision() const {
    Gemma3nEncoder out;
    out.encoder = make_encoder("MobileNetV5Backbone", vision_encoder_config.json, "mobile_net_v5_backbone");
    auto& encoder = dynamic_cast<Functional&>(*out.encoder);
    encoder.connect();
    encoder.build_symbolic();
    const auto& images = static_cast<const InputLayer&>(*encoder.input_layers().front());
    out.item = images.batch_shape.slice(1, 4);
    const TensorRef result = *encoder.output_struct.as<TensorRef>();
    const Shape cells = encoder.find(result.layer)->node_shapes.front().front();
    if (!out.item.known() || !cells.slice(1, 4).known())
      fail("the encoder in vision_encoder_config must have images of a fixed size");
    if (cells[3] != vision_hidden_size)
      fail(fmt::format("vision_hidden_size is {}, but the results of the encoder have {} features",
                       vision_hidden_size.value, cells[3]));
    out.rows = cells[1] * cells[2];
    out.scale = std::sqrt(layer_config(encoder, kNewest).at("num_features").get<double>());
    out.first = vision_vocab_offset;
    out.count = vision_vocab_size;
    out.placeholder = image_token_id;
    out.embedder = make_embedder("vision_embedder", vision_hidden_size, out);
    return out;
  }

  [[nodiscard]] Gemma3nEncoder audio() const {
    Gemma3nEncoder out;
    out.encoder = make_encoder("Gemma3nAudioEncoder", audio_encoder_config, "gemma3n_audio_encoder");
    const auto& encoder = dynamic_cast<const Gemma3nAudioEncoder&>(*out.encoder);
    if (encoder.features() != audio_hidden_size)
      fail(fmt::format("audio_hidden_size is {}, but the results of the encoder have {} features",
                       audio_hidden_size.value, encoder.features()));
    out.item = {kUnknown, encoder.spectrum()};
    out.rows = audio_soft_tokens_per_image;
    out.first = audio_vocab_offset;
    out.count = audio_vocab_size;
    out.placeholder = audio_token_id;
    out.embedder = make_embedder("audio_embedder", audio_hidden_size, out);
    return out;
  }

  [[nodiscard]] Json text_arguments() const {
    const auto or_null = [](const auto& value) { return value ? Json(value->value) : Json(); };
    return {{"pad_token_id", pad_token_id.json},
            {"vocab_size", vocabulary_size.value},
            {"hidden_size", hidden_dim.value},
            {"num_hidden_layers", num_layers.value},
            {"rms_norm_eps", rms_norm_eps.value},
            {"num_attention_heads", num_attention_heads.value},
            {"num_key_value_heads", num_key_value_heads.value},
            {"head_dim", head_dim.value},
            {"attention_bias", attention_bias},
            {"attention_dropout", attention_dropout.value},
            {"layer_types", layer_types},
            {"sliding_window", sliding_window.value},
            {"rope_theta", rope_theta.value},
            {"rope_scaling", or_null(rope_scaling)},
            {"rope_local_base_freq", rope_local_base_freq.value},
            {"max_position_embeddings", max_position_embeddings.json},
            {"intermediate_size", intermediate_size},
            {"hidden_activation", hidden_activation},
            {"activation_sparsity_pattern", activation_sparsity_pattern.json},
            {"altup_num_inputs", altup_num_inputs.value},
            {"altup_coef_clip", or_null(altup_coef_clip)},
            {"altup_active_idx", altup_active_idx},
            {"altup_correct_scale", altup_correct_scale},
            {"laurel_rank", laurel_rank.value},
            {"hidden_size_per_layer_input", hidden_size_per_layer_input.value},
            {"vocab_size_per_layer_input", vocab_size_per_layer_input.value},
            {"num_kv_shared_layers", num_kv_shared_layers},
            {"final_logit_soft_cap", or_null(final_logit_soft_cap)}};
  }

  Positive num_attention_heads, num_key_value_heads, head_dim, sliding_window, vocab_size_per_layer_input,
      hidden_size_per_layer_input, altup_num_inputs, laurel_rank;
  std::vector<std::int64_t> intermediate_size;
  std::vector<std::string> layer_types;
  std::string hidden_activation;
  Number rope_theta, attention_dropout{0.0}, rope_local_base_freq{10000.0}, rms_norm_eps{1e-6};
  std::optional<Number> rope_scaling, altup_coef_clip, final_logit_soft_cap;
  std::int64_t altup_active_idx = 0, num_kv_shared_layers = 0;
  bool attention_bias = false, altup_correct_scale = true;
  Positive vision_hidden_size = 2048, vision_vocab_size = 128, audio_hidden_size = 32, audio_vocab_size = 128,
           audio_soft_tokens_per_image = 188;
  std::int64_t vision_vocab_offset = 100, image_token_id = 98, audio_vocab_offset = 228, audio_token_id = 99;
  Json audio_encoder_config;
  Opaque vision_encoder_config, pad_token_id, max_position_embeddings, activation_sparsity_pattern,
      vision_soft_tokens_per_image{256};
  Gemma3nProcessor* processor_ = nullptr;
};

/// The product of the hidden states with the transposed embedding.
class EmbeddingProduct final : public WithArguments<kX1X2> {
 public:
  explicit EmbeddingProduct(Gemma3nTextModel& model) : model_(model) {}
  Arg call(Call& call) override { return Call::result(of(call.lowering(), call.tensor("x1")->id)); }
  /// KerasHub's constructor computes with the values that the embedding has then, so its model keeps the logits of
  /// these after it loads weights. Its generate() uses the loaded ones, as attn does.
  [[nodiscard]] graph::ValueId of(Lowering& lowering, graph::ValueId hidden) const {
    graph::Builder& b = lowering.builder();
    const Layer& table = *model_.token_embedding().sublayers().front().layer;
    const graph::ValueId rows = lowering.weight(table, 0);
    const DType wide = b.dtype(hidden) == DType::float64 ? DType::float64 : b.dtype(rows);
    return b.apply(graph::MatMul{false, true}, {b.cast(hidden, wide), b.cast(rows, wide)});
  }

 private:
  Gemma3nTextModel& model_;
};

/// KerasHub's task passes the images of a whole model as its tokens. Its generate() calls the backbone's layers itself.
class Gemma3nCausalLM final : public Task, public Autoregressive, public Multimodal, public SizedInputs {
 public:
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const override {
    std::vector<MediaPrompt> out;
    const Gemma3nEncoder &vision = own().processor().vision, &audio = own().processor().audio;
    if (vision.encoder != nullptr)
      out.push_back({.input = "images",
                     .shape = vision.item,
                     .tokens = vision.rows,
                     .mark = "<start_of_image>",
                     .start = "\n\n<start_of_image>",
                     .placeholder = "<image_soft_token>",
                     .end = "<end_of_image>\n\n"});
    if (audio.encoder != nullptr)
      out.push_back({.modality = Modality::audio,
                     .input = "input_features",
                     .shape = audio.item,
                     .tokens = audio.rows,
                     .mark = "<start_of_audio>",
                     .start = "\n\n<start_of_audio>",
                     .placeholder = "<audio_soft_token>",
                     .end = "<end_of_audio>\n\n"});
    return out;
  }
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override {
    return own().default_size(input, axis);
  }
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override {
    graph::Builder& b = lowering.builder();
    const graph::ValueId all = b.cast(b.apply(graph::Fill{b.shape(token_ids), DType::int32, 1.0}, {}), DType::boolean);
    ArgDict inputs = {{"token_ids", Call::result(token_ids)}};
    const Decoding& decoding = *lowering.decoding;
    if (decoding.media.contains("images"))
      inputs.emplace_back("pixel_values", decoding.media_input(b, "images", DType::float32));
    if (decoding.media.contains("input_features")) {
      inputs.emplace_back("input_features", decoding.media_input(b, "input_features", DType::float32));
      const Expression valid(b, decoding.media_input(b, "input_features_mask", DType::int32)->id);
      inputs.emplace_back("input_features_mask", Call::result(valid == 0.0));
    }
    const Arg embedded = lowering.apply(own().processor(), ArgList{inputs}, ArgDict{});
    const ArgList& rows = *embedded.as<ArgList>();
    const ArgList given = {Call::result(token_ids), Call::result(all), rows[0], rows[1]};
    const Arg result = lowering.apply(own().text_model(), given, ArgDict{});
    const graph::ValueId hidden = (*result.as<TensorPtr>())->id;
    const graph::ValueId asked = every_position ? hidden : last_position(b, hidden);
    const graph::ValueId logits = EmbeddingProduct(own().text_model()).of(lowering, asked);
    const auto cap = soft_cap();
    return {cap ? keras::soft_capped(b, logits, *cap) : logits, hidden};
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "CausalLM"; }
  void assemble() override {
    ArgDict unused;
    const auto add_unused = [&](const std::string& of) {
      const std::string indices = of + "_indices", mask = of + "_mask";
      unused.emplace_back(indices, input(indices, {kUnknown, kUnknown}, DType::int32));
      unused.emplace_back(mask, input(mask, {kUnknown, kUnknown}, DType::boolean));
    };
    if (own().processor().vision.encoder != nullptr) add_unused("vision");
    if (own().processor().audio.encoder != nullptr) add_unused("audio");
    const TensorRef hidden = backbone_result({}, unused);
    auto made = std::make_unique<EmbeddingProduct>(own().text_model());
    made->info = operation_classes().find("Matmul");
    made->name = "matmul";
    Layer& product = *made;
    add(std::move(made));
    const TensorRef logits = call(product, {hidden});
    const auto cap = soft_cap();
    output_struct = cap ? soft_capped(logits, *cap) : logits;
  }

 private:
  [[nodiscard]] Gemma3nBackbone& own() const { return dynamic_cast<Gemma3nBackbone&>(backbone()); }
  [[nodiscard]] std::optional<double> soft_cap() {
    const Json cap = backbone_value("final_logit_soft_cap");
    return cap.is_null() ? std::nullopt : std::optional(cap.get<double>());
  }
};

/// Returns the record of a layer of the audio encoder.
constexpr ClassInfo audio_record(std::string_view name, LayerPtr (*make)(), std::string_view module,
                                 Role role = Role::other) {
  return {.name = name, .make = make, .since = kAnyKeras, .module = module, .role = role};
}

constexpr std::array kLayers = {
    ClassInfo{.name = "Gemma3nRMSNorm",
              .make = make_gemma3n_norm,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3n.rms_normalization",
              .role = Role::normalization,
              .symbols = "scale: d_model"},
    ClassInfo{.name = "Gemma3nTextScaledWordEmbedding",
              .make = make_gemma3n_embedding,
              .since = kAnyKeras,
              .module = kTextModule,
              .role = Role::embedding},
    ClassInfo{.name = "Gemma3nTextMLP", .make = make_gemma3n_mlp, .since = kAnyKeras, .module = kTextModule},
    ClassInfo{.name = "Gemma3nTextLaurelBlock", .make = make_gemma3n_laurel, .since = kAnyKeras, .module = kTextModule},
    ClassInfo{.name = "Gemma3nTextAltUp",
              .make = make_layer<Gemma3nTextAltUp>,
              .since = kAnyKeras,
              .module = kTextModule,
              .symbols = "correct_output_scale: d_model"},
    ClassInfo{.name = "Gemma3nTextAttention",
              .make = make_gemma3n_attention,
              .since = kAnyKeras,
              .module = kAttentionModule,
              .role = Role::attention,
              .symbols = "q_proj/kernel: d_model -; k_proj/kernel: d_model -; v_proj/kernel: d_model -;"
                         " o_proj/kernel: - d_model; q_norm/scale: d_head; k_norm/scale: d_head"},
    ClassInfo{.name = "Gemma3nTextDecoderBlock",
              .make = make_layer<Gemma3nTextDecoderBlock>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3n.gemma3n_text_decoder",
              .role = Role::transformer},
    ClassInfo{.name = "Gemma3nTextModel",
              .make = make_layer<Gemma3nTextModel>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3n.gemma3n_text_model",
              .role = Role::transformer},
    ClassInfo{.name = "Gemma3nMultimodalEmbedder",
              .make = make_gemma3n_embedder,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3n.gemma3n_backbone",
              .role = Role::embedding},
    ClassInfo{.name = "Gemma3nMultimodalEmbeddingProcessor",
              .make = make_layer<Gemma3nProcessor>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3n.gemma3n_backbone",
              .role = Role::embedding},
    audio_record("Gemma3nAudioRelativePositionEmbedding", make_gemma3n_relative_positions, kAttentionModule),
    audio_record("Gemma3nAudioAttention", make_gemma3n_audio_attention, kAttentionModule, Role::attention),
    audio_record("Gemma3nAudioCumulativeGroupNorm", make_gemma3n_group_norm, kAudioModule, Role::normalization),
    audio_record("Gemma3nAudioSSCPConvBlock", make_gemma3n_sound_convolution, kAudioModule, Role::kernel),
    audio_record("Gemma3nAudioConformerFeedForward", make_gemma3n_conformer_feed_forward, kAudioModule),
    audio_record("Gemma3nAudioConformerLightConv1d", make_gemma3n_conformer_convolution, kAudioModule),
    audio_record("Gemma3nAudioConformerAttention", make_gemma3n_conformer_attention, kAudioModule),
    audio_record("Gemma3nAudioSubSampleConvProjection", make_gemma3n_subsampling, kEncoderModule),
    audio_record("Gemma3nAudioConformerBlock", make_gemma3n_conformer, kEncoderModule, Role::transformer),
    audio_record("Gemma3nAudioEncoder", make_layer<Gemma3nAudioEncoder>, kEncoderModule),
    ClassInfo{.name = "Gemma3nAudioConverter",
              .make = make_gemma3n_audio_converter,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3n.gemma3n_audio_converter",
              .role = Role::arrangement,
              .package = "keras_hub"},
};

constexpr std::array kModels = {
    model_record<Gemma3nBackbone>("Gemma3nBackbone", "keras_hub.src.models.gemma3n.gemma3n_backbone"),
    model_record<Gemma3nCausalLM>("Gemma3nCausalLM", "keras_hub.src.models.gemma3n.gemma3n_causal_lm"),
};

constexpr std::array<std::string_view, 10> kMoreTokens{
    "<image_soft_token>", "<audio_soft_token>", "<start_of_image>", "<end_of_image>", "<start_of_audio>",
    "<end_of_audio>",     "<start_of_turn>",    "<end_of_turn>",    "<mask>",         "[multimodal]"};
constexpr std::array<std::string_view, 2> kShownTokens{"<start_of_image>", "<start_of_audio>"};
// Gemma3nCausalLM.generate also stops at the end of the turn.
constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "Gemma3nTokenizer",
                           .kind = tokenizers::TokenizerKind::sentence_piece,
                           .start = "<bos>",
                           .end = "<eos>",
                           .pad = kPadToken,
                           .more = kMoreTokens,
                           .shown = kShownTokens,
                           .turn_end = "<end_of_turn>"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "gemma3n", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers, .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::gemma3n
