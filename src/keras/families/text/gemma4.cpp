// Gemma 4 (keras_hub/src/models/gemma4).
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "classes/decoding.h"
#include "families/blocks/decoders/gemma4_attention.h"
#include "families/blocks/decoders/gemma4_backbone.h"
#include "families/blocks/decoders/gemma4_mixture.h"
#include "families/blocks/decoders/gemma4_text_block.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/gemma4_clipped_dense.h"
#include "families/blocks/images/gemma4_vision.h"
#include "families/blocks/images/gemma4_vision_block.h"
#include "families/blocks/layer_record.h"
#include "families/blocks/sound/gemma4_audio.h"
#include "families/blocks/sound/gemma4_audio_attention.h"
#include "families/blocks/sound/gemma4_conformer.h"
#include "families/blocks/sound/gemma_audio_converters.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/multimodal.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::gemma4 {
namespace {

constexpr std::string_view kLayersModule = "keras_hub.src.models.gemma4.gemma4_layers",
                           kAttentionModule = "keras_hub.src.models.gemma4.gemma4_attention",
                           kBlockModule = "keras_hub.src.models.gemma4.gemma4_decoder_block",
                           kMixtureModule = "keras_hub.src.models.gemma4.gemma4_moe",
                           kAudioModule = "keras_hub.src.models.gemma4.gemma4_audio_encoder",
                           kVisionModule = "keras_hub.src.models.gemma4.gemma4_vision_encoder";

/// The logits may have a second soft cap.
class Gemma4CausalLM final : public CausalLM, public Multimodal, public SizedInputs {
 public:
  void fields(Fields& f) override { f("final_logit_cap", final_logit_cap); }
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const override {
    constexpr std::int64_t kStepsOfToken = 4;
    std::vector<MediaPrompt> out;
    if (own().encoder() != nullptr)
      out.push_back({.input = "pixel_values",
                     .shape = {kUnknown, own().encoder()->patch_numbers()},
                     .tokens = image_tokens(),
                     .patches_per_token = own().encoder()->patches_per_row(),
                     .position_embedding_size = own().encoder()->positions(),
                     .mark = "<|image|>",
                     .start = "<|image>",
                     .placeholder = "<|image|>",
                     .end = "<image|>"});
    if (own().audio_encoder() != nullptr)
      out.push_back({.modality = Modality::audio,
                     .input = "audio_mel",
                     .shape = {kUnknown, own().audio_encoder()->spectrum()},
                     .merge = kStepsOfToken,
                     .mark = "<|audio|>",
                     .start = "<|audio>",
                     .placeholder = "<|audio|>",
                     .end = "<audio|>"});
    return out;
  }
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override {
    Decoded decoded = answered(lowering, own().decode(lowering, token_ids), every_position);
    if (final_logit_cap) decoded.logits = keras::soft_capped(lowering.builder(), decoded.logits, *final_logit_cap);
    return decoded;
  }
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override {
    return own().default_size(input, axis);
  }

 protected:
  void check_fields(const Ref& config) override {
    if (backbone_flag("is_embedding_model"))
      config["backbone"]["config"]["is_embedding_model"].fail("a Gemma4CausalLM needs a backbone with false here");
    if (image_tokens() > kMostImageTokens)
      config["preprocessor"]["config"]["num_vision_tokens_per_image"].fail(
          fmt::format("expected at most {}", kMostImageTokens));
    if (final_logit_cap && *final_logit_cap == 0.0) config["final_logit_cap"].fail("expected another number than 0");
  }
  void assemble() override {
    const TensorRef logits = reverse_embedding(backbone_result());
    output_struct = final_logit_cap ? soft_capped(logits, *final_logit_cap) : logits;
  }

 private:
  static constexpr std::int64_t kMostImageTokens = 1 << 16;

  /// Returns the number of positions of an image in a prompt.
  [[nodiscard]] std::int64_t image_tokens() const {
    constexpr std::int64_t kDefault = 280;
    return preprocessor() ? preprocessor()->num_vision_tokens_per_image.value_or(kDefault) : kDefault;
  }
  [[nodiscard]] Gemma4Backbone& own() const { return dynamic_cast<Gemma4Backbone&>(backbone()); }

  std::optional<Number> final_logit_cap;
};

constexpr std::array kLayers = {
    ClassInfo{.name = "Gemma4RMSNormalization",
              .make = make_gemma4_norm,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::normalization,
              .shown = "RMSNormalization",
              .symbols = "scale: d_model"},
    ClassInfo{.name = "Gemma4VNorm",
              .make = make_gemma4_value_norm,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::normalization},
    ClassInfo{.name = "Gemma4MeanPooling", .make = make_gemma_pooling, .since = kAnyKeras, .module = kLayersModule},
    ClassInfo{.name = "Gemma4TextAttention",
              .make = make_gemma4_attention,
              .since = kAnyKeras,
              .module = kAttentionModule,
              .role = Role::attention,
              .symbols = kGemmaAttentionSymbols},
    ClassInfo{.name = "Gemma4Router",
              .make = make_gemma4_router,
              .since = kAnyKeras,
              .module = kMixtureModule,
              .symbols = "per_dim_scale: d_model"},
    ClassInfo{.name = "Gemma4MoEBlock",
              .make = make_gemma4_experts,
              .since = kAnyKeras,
              .module = kMixtureModule,
              .symbols = "gate_proj: - d_model -; up_proj: - d_model -; down_proj: - - d_model;"
                         " per_expert_scale: -"},
    ClassInfo{.name = "Gemma4TextDecoderBlock",
              .make = make_gemma4_block,
              .since = kAnyKeras,
              .module = kBlockModule,
              .role = Role::transformer},
    layer_record("Gemma4ClippableEinsumDense", make_gemma4_clipped_einsum, kLayersModule),
    layer_record("Gemma4ClippableDense", make_gemma4_clipped_dense, kLayersModule),
    layer_record("Gemma4FrozenNorm", make_gemma4_frozen_norm, kLayersModule, Role::normalization),
    layer_record("Gemma4VisionAttention", make_gemma4_vision_attention, kAttentionModule, Role::attention),
    layer_record("Gemma4VisionDecoderBlock", make_gemma4_vision_block, kBlockModule, Role::transformer),
    layer_record("Gemma4VisionPatchEmbedder", make_gemma4_patch_embedder, kVisionModule, Role::embedding),
    layer_record("Gemma4VisionEncoderBlock", make_gemma4_vision_stack, kVisionModule),
    layer_record("Gemma4VisionAveragePooling", make_gemma4_vision_pooling, kVisionModule, Role::pooling),
    layer_record("Gemma4VisionOutput", make_gemma4_vision_output, kVisionModule),
    layer_record("Gemma4InterleaveEmbeddings", make_gemma4_interleave, kLayersModule, Role::merge),
    layer_record("Gemma4AudioRelativePositionEmbedding", make_gemma4_relative_positions, kAudioModule),
    layer_record("Gemma4AudioAttention", make_gemma4_audio_attention, kAudioModule, Role::attention),
    layer_record("Gemma4AudioConformerAttention", make_gemma4_conformer_attention, kAudioModule),
    layer_record("Gemma4AudioConformerFeedForward", make_gemma4_conformer_feed_forward, kAudioModule),
    layer_record("Gemma4AudioConformerLightConv1d", make_gemma4_conformer_convolution, kAudioModule),
    layer_record("Gemma4AudioConformerBlock", make_gemma4_conformer, kAudioModule, Role::transformer),
    layer_record("Gemma4AudioSSCPConvBlock", make_gemma4_sound_convolution, kAudioModule, Role::kernel),
    layer_record("Gemma4AudioSubSampleConvProjection", make_gemma4_subsampling, kAudioModule),
    ClassInfo{.name = "Gemma4AudioConverter",
              .make = make_gemma4_audio_converter,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma4.gemma4_audio_converter",
              .role = Role::arrangement,
              .package = "keras_hub"},
    ClassInfo{.name = "Gemma4AudioEncoder",
              .make = make_layer<Gemma4AudioEncoder>,
              .since = kAnyKeras,
              .module = kAudioModule,
              .package = "keras_hub"},
};

constexpr std::array kModels = {
    model_record<Gemma4VisionEncoder>("Gemma4VisionEncoder", kVisionModule),
    model_record<Gemma4Backbone>("Gemma4Backbone", "keras_hub.src.models.gemma4.gemma4_backbone"),
    model_record<Gemma4CausalLM>("Gemma4CausalLM", "keras_hub.src.models.gemma4.gemma4_causal_lm"),
};

constexpr std::array<std::string_view, 3> kVisionTokens{"<|image>", "<|image|>", "<image|>"},
    kAudioTokens{"<|audio>", "<|audio|>", "<audio|>"};
constexpr std::array<std::string_view, 1> kVideoTokens{"<|video|>"}, kShownTokens{"<|image>"};
// Gemma4CausalLM.generate also stops at the end of the turn.
constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "Gemma4Tokenizer",
                           .kind = tokenizers::TokenizerKind::sentence_piece,
                           .start = "<bos>",
                           .end = "<eos>",
                           .pad = kPadToken,
                           .vision = kVisionTokens,
                           .video = kVideoTokens,
                           .audio = kAudioTokens,
                           .shown = kShownTokens,
                           .turn_end = "<turn|>"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "gemma4", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers, .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::gemma4
