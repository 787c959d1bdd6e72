// VideoPrism, which encodes videos, and texts beside them (keras_hub/src/models/video_prism).
//
// Letters: B batch, F frames, P patches of a frame, D width.
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "families/blocks/images/video_prism_layers.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"

namespace attn::keras::video_prism {
namespace {

/// Videos (B,F,H,W,C) → (B,F,P,D); with texts, a vector (B,D) of each video and of each text.
class VideoPrismBackbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("num_frames", num_frames);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f.required("num_spatial_layers", num_spatial_layers);
    f.required("num_temporal_layers", num_temporal_layers);
    f.required("num_auxiliary_layers", num_auxiliary_layers);
    f("vocabulary_size", vocabulary_size);
    f("num_text_layers", num_text_layers);
    f("dropout_rate", dropout_rate);
    f("attention_dropout_rate", attention_dropout_rate);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("image_shape", image_shape);
  }

 protected:
  void check_fields(const Ref& config) override {
    for (const auto& [key, count] : {std::pair("num_spatial_layers", num_spatial_layers.value),
                                     {"num_temporal_layers", num_temporal_layers.value},
                                     {"num_auxiliary_layers", num_auxiliary_layers},
                                     {"num_text_layers", num_text_layers}}) {
      if (count < 0) config[key].fail("expected a number of blocks");
      check_blocks(config, key, count);
    }
    if (num_text_layers > 0 && vocabulary_size < 1) config["vocabulary_size"].fail("a text encoder needs tokens");
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
    const std::int64_t patch = patch_size;
    if (height() % patch != 0 || width() % patch != 0)
      config["patch_size"].fail(
          fmt::format("frames of {} by {} cannot be divided into patches of {}", height(), width(), patch));
    checked_patches(config, "image_shape", height() / patch, width() / patch);
  }

  void assemble() override {
    // The order of the layers is that of KerasHub's constructor, which counts for the order of variables.
    const std::int64_t patch = patch_size, patches = height() / patch * (width() / patch);
    Layer& spatial_reshape =
        layer("VideoPrismFactorizedReshape", "spatial_reshape", {{"image_shape", image_shape.items}});
    Layer& spatial_embedding = layer("VideoPrismPatchingAndEmbedding", "spatial_patching_and_embedding",
                                     {{"image_size", {height(), width()}},
                                      {"patch_size", {patch, patch}},
                                      {"hidden_dim", hidden_dim.value},
                                      {"num_channels", image_shape.items[2]}});
    Layer& spatial_encoder = encoder("spatial_encoder", num_spatial_layers);
    Layer& temporal_embedding = layer("VideoPrismTemporalEmbedding", "temporal_embedding",
                                      {{"num_frames", num_frames.value}, {"hidden_dim", hidden_dim.value}});
    Layer& temporal_encoder = encoder("temporal_encoder", num_temporal_layers);
    Layer& decoding =
        layer("VideoPrismFactorizedDecoding", "factorized_decoding",
              {{"num_patches", patches}, {"num_frames", num_frames.value}, {"hidden_dim", hidden_dim.value}});
    TextParts texts;
    if (num_text_layers > 0) texts = text_parts();
    const TensorRef videos =
        input("pixel_values", {kUnknown, num_frames, height(), width(), image_shape.items[2]}, DType::float32);
    TensorRef x = videos;
    for (Layer* part :
         {&spatial_reshape, &spatial_embedding, &spatial_encoder, &temporal_embedding, &temporal_encoder, &decoding})
      x = call(*part, {x});
    input_struct = videos;
    output_struct = x;
    if (num_text_layers > 0) compare(texts, videos, x);
  }

 private:
  /// The layers of a model that also encodes texts.
  struct TextParts {
    Layer *reshape = nullptr, *auxiliary = nullptr, *pooler = nullptr, *embedding = nullptr, *encoder = nullptr,
          *norm = nullptr;
  };

  [[nodiscard]] std::int64_t height() const { return image_shape.items[0]; }
  [[nodiscard]] std::int64_t width() const { return image_shape.items[1]; }

  Layer& encoder(std::string_view called, std::int64_t blocks, Json further = Json::object()) {
    Json soft_cap;
    if (attention_logit_soft_cap) soft_cap = attention_logit_soft_cap->value;
    further.update({{"num_layers", blocks},
                    {"num_heads", num_heads.value},
                    {"hidden_dim", hidden_dim.value},
                    {"intermediate_dim", intermediate_dim.value},
                    {"dropout_rate", dropout_rate.value},
                    {"attention_dropout_rate", attention_dropout_rate.value},
                    {"layer_norm_epsilon", layer_norm_epsilon.value},
                    {"attention_logit_soft_cap", soft_cap}});
    return layer("VideoPrismEncoder", called, std::move(further));
  }

  TextParts text_parts() {
    TextParts out;
    out.reshape = &layer("Reshape", "video_reshape", {{"target_shape", {-1, hidden_dim.value}}});
    if (num_auxiliary_layers > 0)
      out.auxiliary = &encoder("auxiliary_encoder", num_auxiliary_layers, {{"use_final_layernorm", false}});
    out.pooler = &layer("VideoPrismAttenTokenPoolingLayer", "video_pooler",
                        {{"num_heads", num_heads.value},
                         {"hidden_dim", hidden_dim.value},
                         {"query_dim", hidden_dim.value},
                         {"num_queries", 1},
                         {"dropout_rate", dropout_rate.value},
                         {"layer_norm_epsilon", layer_norm_epsilon.value}});
    out.embedding = &layer("VideoPrismEmbedding", "text_embedding",
                           {{"vocabulary_size", vocabulary_size}, {"hidden_dim", hidden_dim.value}});
    out.encoder = &encoder("text_encoder", num_text_layers, {{"activation", "relu"}, {"is_causal", true}});
    out.norm = &layer("LayerNormalization", "text_layer_normalization", {{"epsilon", layer_norm_epsilon.value}});
    return out;
  }

  /// Adds the vectors of videos and texts, which are the results.
  void compare(const TextParts& parts, const TensorRef& videos, TensorRef seen) {
    const auto tokens = [&](const char* called) { return input(called, {kUnknown, kUnknown}, DType::int32); };
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    input_struct = ArgDict{{"pixel_values", videos}, {"token_ids", token_ids}, {"padding_mask", padding_mask}};
    for (Layer* part : {parts.reshape, parts.auxiliary, parts.pooler})
      if (part != nullptr) seen = call(*part, {seen});
    seen = operation("Squeeze", {{"axis", 1}}, {seen});
    const TensorRef embedded = call(*parts.embedding, {token_ids, padding_mask});
    const TensorRef mask{embedded.layer, embedded.node, 1};
    const TensorRef texts = call(*parts.norm, {call(*parts.encoder, {embedded}, {{"attention_mask", mask}})});
    const TensorRef last =
        operation("GetItem", Json::object(), {texts, ArgList{SliceArg{}, std::int64_t{-1}, SliceArg{}}});
    output_struct = ArgDict{{"vision_embeddings", seen}, {"text_embeddings", last}};
  }

  Positive num_frames, patch_size, hidden_dim, intermediate_dim, num_heads, num_spatial_layers, num_temporal_layers;
  std::int64_t num_auxiliary_layers = 0, vocabulary_size = 0, num_text_layers = 0;
  Number dropout_rate = 0.0, attention_dropout_rate = 0.0, layer_norm_epsilon = 1e-6;
  std::optional<Number> attention_logit_soft_cap;
  Window image_shape{{288, 288, 3}};
};

constexpr std::string_view kLayerModule = "keras_hub.src.models.video_prism.video_prism_layers";
constexpr std::array kLayers = {
    layer_record("VideoPrismFactorizedReshape", make_video_prism_reshape, kLayerModule, Role::arrangement),
    layer_record("VideoPrismFactorizedDecoding", make_video_prism_decoding, kLayerModule, Role::arrangement),
    layer_record("VideoPrismMLP", make_video_prism_mlp, kLayerModule, Role::other),
    layer_record("VideoPrismPerDimScale", make_video_prism_per_dim_scale, kLayerModule, Role::other,
                 "per_dim_scale: -"),
    layer_record("VideoPrismAttention", make_video_prism_attention, kLayerModule, Role::attention),
    layer_record("VideoPrismEncoderBlock", make_video_prism_encoder_block, kLayerModule, Role::transformer),
    layer_record("VideoPrismEncoder", make_video_prism_encoder, kLayerModule, Role::other),
    layer_record("SinusoidalPositionalEmbedding", make_video_prism_positions, kLayerModule, Role::embedding, "",
                 "its sines and cosines follow from the positions"),
    layer_record("VideoPrismEmbedding", make_video_prism_embedding, kLayerModule, Role::tokens),
    layer_record("VideoPrismClassToken", make_video_prism_class_token, kLayerModule, Role::embedding,
                 "cls_token: - - d_model"),
    layer_record("VideoPrismPatchingAndEmbedding", make_video_prism_patches, kLayerModule, Role::embedding),
    layer_record("VideoPrismTemporalEmbedding", make_video_prism_frames, kLayerModule, Role::embedding),
    layer_record("VideoPrismAttenTokenPoolingLayer", make_video_prism_pooling, kLayerModule, Role::pooling,
                 "pooling_attention_query: - d_model"),
};

constexpr std::array kModels = {
    model_record<VideoPrismBackbone>("VideoPrismBackbone", "keras_hub.src.models.video_prism.video_prism_backbone"),
};

constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "VideoPrismTokenizer", .kind = tokenizers::TokenizerKind::sentence_piece},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "video_prism", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::video_prism
