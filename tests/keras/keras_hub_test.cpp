// KerasHub's layers and backbones: their errors, and the forms of their configs. Numbers are checked in tests/fixtures.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/keras/model.h"

namespace {

using namespace attn;
using nlohmann::json;

const std::string kSizes =
    R"("vocabulary_size": 9, "num_layers": 2, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12)";
const std::string kGrouped =
    R"("vocabulary_size": 9, "num_layers": 1, "num_query_heads": 2, "num_key_value_heads": 1, "hidden_dim": 8,)"
    R"( "intermediate_dim": 12)";
const std::string kExperts = R"(, "num_experts": 2, "top_k": 3, "moe_intermediate_dim": 4)";
const std::string kSides =
    R"("vocabulary_size": 9, "encoder_hidden_dim": 8, "encoder_intermediate_dim": 12, "encoder_num_layers": 1,)"
    R"( "encoder_num_attention_heads": 2, "encoder_num_key_value_heads": 1, "encoder_head_dim": 4,)"
    R"( "decoder_hidden_dim": 8, "decoder_intermediate_dim": 12, "decoder_num_layers": 1,)"
    R"( "decoder_num_attention_heads": 2, "decoder_num_key_value_heads": 1, "decoder_head_dim": 4)";
const std::string kVideos =
    R"("num_frames": 2, "patch_size": 4, "hidden_dim": 8, "intermediate_dim": 12, "num_heads": 2,)"
    R"( "num_spatial_layers": 1, "num_temporal_layers": 1, "num_auxiliary_layers": 0)";
/// A MobileNetV5 of two stages with a block each.
const std::string kMobile =
    R"("stackwise_block_types": [["er"], ["uir"]], "stackwise_num_blocks": [1, 1],)"
    R"( "stackwise_num_filters": [[8], [16]], "stackwise_strides": [[2], [2]], "stackwise_act_layers": [["relu"], ["relu"]],)"
    R"( "stackwise_exp_ratios": [[2.0], [2.0]], "stackwise_se_ratios": [[0.0], [0.0]],)"
    R"( "stackwise_dw_kernel_sizes": [[0], [3]], "stackwise_dw_start_kernel_sizes": [[0], [0]],)"
    R"( "stackwise_dw_end_kernel_sizes": [[0], [0]], "stackwise_exp_kernel_sizes": [[3], [0]],)"
    R"( "stackwise_pw_kernel_sizes": [[1], [0]], "stackwise_num_heads": [[0], [0]], "stackwise_key_dims": [[0], [0]],)"
    R"( "stackwise_value_dims": [[0], [0]], "stackwise_kv_strides": [[0], [0]], "stackwise_use_cpe": [[false], [false]])";
const std::string kGemma4 = kGrouped + R"(, "head_dim": 4, "image_size": null)";
const std::string kGemma3n =
    R"("text_vocab_size": 9, "text_hidden_size": 8, "num_hidden_layers": 2, "pad_token_id": 0,)"
    R"( "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": [4, 4],)"
    R"( "layer_types": ["full_attention", "sliding_attention"], "sliding_window": 3, "rope_theta": 100.0,)"
    R"( "max_position_embeddings": 16, "vocab_size_per_layer_input": 9, "hidden_size_per_layer_input": 2,)"
    R"( "laurel_rank": 2)";
const std::string kGemma3nAudio =
    R"("hidden_size": 8, "input_feat_size": 8, "sscp_conv_channel_size": [2, 2],)"
    R"( "sscp_conv_kernel_size": [[3, 3], [3, 3]], "sscp_conv_stride_size": [[2, 2], [2, 2]],)"
    R"( "sscp_conv_group_norm_eps": 0.001, "num_hidden_layers": 1, "rms_norm_eps": 1e-06, "gradient_clipping": 1.0,)"
    R"( "residual_weight": 0.5, "attention_chunk_size": 2, "num_attention_context_right": 0,)"
    R"( "num_attention_context_left": 2, "attention_logit_cap": 50.0, "conv_kernel_size": 3, "reduction_factor": 1)";
const std::string kQwen3_5 = kGrouped + R"(, "head_dim": 8)";
const std::string kQwen3_5Encoder =
    R"("depth": 1, "hidden_size": 8, "intermediate_size": 12, "patch_size": 2, "num_position_embeddings": 9)";
const std::string kImages = R"("num_layers": 1, "num_heads": 2, "hidden_dim": 8, "mlp_dim": 12)";

std::string object(const std::string& class_name, const std::string& config) {
  return R"({"class_name": ")" + class_name + R"(", "config": {)" + config + "}}";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

/// The fields of Gemma 4's vision encoder, with another value of a key.
std::string gemma4_encoder(const std::string& key, std::int64_t value) {
  json sizes = {{"image_size", 8}, {"patch_size", 2},       {"num_heads", 2}, {"hidden_dim", 8}, {"num_layers", 1},
                {"head_dim", 4},   {"intermediate_dim", 8}, {"pool_size", 2}, {"output_dim", 8}};
  sizes[key] = value;
  const std::string text = sizes.dump();
  return text.substr(1, text.size() - 2);
}

keras::Model read(const std::string& text, std::optional<Shape> input = {}) {
  keras::ReadOptions options;
  options.input_shape = std::move(input);
  return keras::Model::read("it.json", text, options);
}

/// The error of reading a model or showing its summary; "" if there is none.
std::string hub_refusal(const std::string& text, std::optional<Shape> input = {}) {
  try {
    (void)read(text, std::move(input)).summary();
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
}

std::int64_t params(const keras::Model& model) { return static_cast<std::int64_t>(model.summary().total_params); }

}  // namespace

TEST_CASE("keras_hub: configs that KerasHub rejects are rejected with place and reason") {
  struct Row {
    std::string class_name, config;
    std::optional<Shape> input;
    std::string reason;
  };
  const std::string block = R"("intermediate_dim": 8, "num_heads": 2)";
  const std::vector<Row> rows = {
      {"BertBackbone", R"("vocabulary_size": 9)", {}, "/config: the key 'num_layers' is missing"},
      {"BertBackbone", kSizes + R"(, "num_head": 2)", {}, "/config/num_head: unknown key (did you mean 'num_heads'?)"},
      {"BertBackbone", kSizes + R"(, "dropout": 1.5)", {}, "/config/dropout: expected a number from 0 to 1"},
      {"BertBackbone", kSizes + R"(, "dtype": "float33")", {}, "/config/dtype: unknown dtype 'float33'"},
      {"GPT2Backbone",
       kSizes + R"(, "max_sequence_length": null)",
       {},
       "/config/max_sequence_length: expected an integer"},
      {"AlbertBackbone",
       kSizes + R"(, "embedding_dim": 4, "num_groups": 3)",
       {},
       "2 layers cannot be divided into 3 groups"},
      {"AlbertBackbone", kSizes + R"(, "embedding_dim": 4, "num_inner_repetitions": 501)", {}, "more than 1000 blocks"},
      {"ViTBackbone",
       R"("image_shape": [9, 8, 3], "patch_size": 4, )" + kImages,
       {},
       "the image's height 9 cannot be divided"},
      {"ViTBackbone", R"("image_shape": [8, 8], "patch_size": 4, )" + kImages, {}, "/config/image_shape: expected"},
      {"DeiTBackbone",
       R"("image_shape": [9, 8, 3], "patch_size": 4, "intermediate_dim": 12, "num_layers": 1, "num_heads": 2,)"
       R"( "hidden_dim": 8)",
       {},
       "/config/patch_size: 9 pixels cannot be divided into patches of 4"},
      {"DINOV2Backbone",
       R"("image_shape": [4, 6, 3], "patch_size": 2, "intermediate_dim": 12, "num_layers": 1, "num_heads": 2,)"
       R"( "hidden_dim": 8)",
       {},
       "/config/image_shape: expected square images, got 4 by 6"},
      {"CLIPBackbone",
       R"("vision_encoder": null, "text_encoder": null, "projection_dim": 4)",
       {},
       "/config/vision_encoder: expected an object, got null"},
      {"SwinTransformerBackbone",
       R"("image_shape": [8, 8, 3], "embed_dim": 4, "depths": [1], "num_heads": [1], "window_size": 7)",
       {},
       "the windows of 7 are larger than the 2 by 2 cells of a stage"},
      {"MiTBackbone",
       R"("image_shape": [8, 8, 3], "num_layers": 2, "layerwise_depths": [1, 1], "hidden_dims": [4],)"
       R"( "layerwise_num_heads": [1, 1], "layerwise_sr_ratios": [1, 1], "layerwise_patch_sizes": [3, 3],)"
       R"( "layerwise_strides": [2, 2], "max_drop_path_rate": 0.1)",
       {},
       "/config/hidden_dims: expected a value for each of the 2 stages"},
      {"MobileNetV5Backbone",
       with(kMobile, R"([["er"], ["uir"]])", R"([["er"], ["mha"]])"),
       {},
       "/config/stackwise_block_types: blocks of the type 'mha' are not supported; KerasHub with TensorFlow builds "
       "only"},
      {"MobileNetV5Backbone",
       with(kMobile, "[1, 1]", "[1, 2]"),
       {},
       "/config/stackwise_block_types: expected a value for each of the 2 blocks of stage 1"},
      {"MobileNetV5Backbone", with(kMobile, "[1, 1]", "[1, 1001]"), {}, "more than 1000 blocks are not accepted"},
      {"MobileNetV5Backbone",
       with(kMobile, "[[0.0], [0.0]]", "[[0.25], [0.0]]"),
       {},
       "/config/stackwise_se_ratios: expected ratios of 0"},
      {"MobileNetV5Backbone",
       with(kMobile, R"("stackwise_strides": [[2], [2]])", R"("stackwise_strides": [[1], [2]], "stem_size": 24)"),
       {},
       "/config: KerasHub would fuse 32 channels, and expects 24"},
      {"MobileNetV5Backbone", kMobile + R"(, "msfa_indices": [3])", {}, "/config/msfa_indices: there are 3 features"},
      {"MobileNetV5Backbone",
       with(kMobile, R"([["er"], ["uir"]])", R"([["er"], ["mqa"]])"),
       {},
       "MobileAttention: /num_heads: expected an integer > 0, got 0"},
      {"MobileNetV5Backbone", kMobile + R"(, "image_shape": [8, 8])", {}, "/config/image_shape: expected a height"},
      {"MobileNetV5ImageClassifier",
       R"("num_classes": 2, "backbone": )" +
           object("MobileNetV5Backbone", kMobile + R"(, "use_msfa": false, "norm_layer": "batch_norm")"),
       {},
       "/config/backbone: KerasHub's head needs use_msfa=true"},
      {"GPTNeoXBackbone", kSizes + R"(, "rotary_percentage": 0.75)", {}, "expected an even number of rotary features"},
      {"BloomBackbone",
       R"("vocabulary_size": 9, "num_layers": 1, "num_heads": 3, "hidden_dim": 8, "intermediate_dim": 12)",
       {},
       "8 features cannot be divided among 3 heads"},
      {"MixtralBackbone", kGrouped + R"(, "num_experts": 2, "top_k": 3)", {}, "3 experts cannot be chosen of 2"},
      {"GemmaBackbone",
       R"("vocabulary_size": 9, "num_layers": 1, "num_query_heads": 3, "num_key_value_heads": 2, "hidden_dim": 8,)"
       R"( "intermediate_dim": 12, "head_dim": 4)",
       {},
       "3 query heads cannot share 2 heads of keys and values evenly"},
      {"Gemma3Backbone",
       kGrouped +
           R"(, "head_dim": 4, "image_size": 8, "vision_encoder": {"class_name": "Dense", "config": {"units": 2}})",
       {},
       "/config/vision_encoder: expected a Gemma3VisionEncoder, not a Dense"},
      {"PaliGemmaBackbone",
       kGrouped + R"(, "head_dim": 4, "image_size": 9, "vit_patch_size": 4, "vit_num_heads": 2, "vit_hidden_dim": 4,)"
                  R"( "vit_num_layers": 1)",
       {},
       "/config/image_size: an image of 9 pixels cannot be divided into patches of 4"},
      {"PaliGemmaBackbone",
       kGrouped + R"(, "head_dim": 4, "image_size": 8, "vit_patch_size": 4, "vit_num_heads": 2, "vit_hidden_dim": 4,)"
                  R"( "vit_num_layers": 1, "vit_pooling": "gap")",
       {},
       "/config/vit_pooling: expected null"},
      {"BLIP2Backbone",
       R"("vision_encoder": null, "qformer": null, "language_model": {"class_name": "Dense", "config": {"units": 2}})",
       {},
       "/config/language_model: expected a BLIP2CustomOPT or a BLIP2FlanT5"},
      {"BLIP2Backbone",
       R"("vision_encoder": null, "qformer": null, "language_model": )" +
           object("BLIP2CustomOPT",
                  kSizes +
                      R"(, "num_query_tokens": 2, "dropout": 0.1, "max_sequence_length": 9, "qformer_hidden_dim": 4)"),
       {},
       "/config/language_model: the text model reads 2 query tokens, and there is no Q-Former"},
      {"BLIP2CustomOPT",
       kSizes + R"(, "num_query_tokens": 3, "dropout": 0.1, "max_sequence_length": 3, "qformer_hidden_dim": 4)",
       {},
       "/config/max_sequence_length: 3 positions are too few behind 3 query tokens"},
      {"VideoPrismBackbone", kVideos + R"(, "image_shape": [9, 8, 3])", {}, "frames of 9 by 8 cannot be divided"},
      {"VideoPrismBackbone",
       kVideos + R"(, "image_shape": [8, 8, 3], "num_text_layers": 1, "vocabulary_size": 0)",
       {},
       "/config/vocabulary_size: a text encoder needs tokens"},
      {"VideoPrismBackbone",
       kVideos + R"(, "image_shape": [8, 8, 3], "num_text_layers": -1)",
       {},
       "/config/num_text_layers: expected a number of blocks"},
      {"Gemma3Backbone",
       kGrouped + R"(, "head_dim": 4, "image_size": null, "is_embedding_model": true, "embedding_dim": 8)",
       {},
       "/config/is_embedding_model: expected false without pooling_intermediate_dim"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "vision_encoder": {"class_name": "Dense", "config": {"units": 2}})",
       {},
       "/config/vision_encoder: expected a Gemma4VisionEncoder, not a Dense"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "vision_encoder": )" + object("Gemma4VisionEncoder", gemma4_encoder("output_dim", 9)),
       {},
       "/config/vision_encoder/config/output_dim: expected 8, the width of the text model"},
      {"Gemma4VisionEncoder",
       gemma4_encoder("pool_size", 5),
       {},
       "/config/pool_size: 4 patches in a row are too few for squares of 5"},
      {"Gemma4VisionEncoder",
       gemma4_encoder("num_layers", 1000000000),
       {},
       "/config/num_layers: more than 1000 blocks are not accepted"},
      {"Gemma4VisionEncoder",
       gemma4_encoder("patch_size", 1000000000),
       {},
       "/config/patch_size: expected at most 4096"},
      {"Gemma4VisionEncoder",
       gemma4_encoder("head_dim", 6),
       {},
       "expected a multiple of 4 for rotary positions on two axes, got 6"},
      {"Gemma4VisionEncoder",
       gemma4_encoder("num_heads", 3),
       {},
       "3 heads of 4 features are not the 8 features of the input"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "vision_encoder": null, "audio_encoder": {"class_name": "Dense", "config": {"units": 2}})",
       {},
       "/config/audio_encoder: expected a Gemma4AudioEncoder, not a Dense"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "audio_encoder": )" + object("Gemma4AudioEncoder", R"("output_dim": 9)"),
       {},
       "/config/audio_encoder/config/output_dim: expected 8, the width of the text model"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "audio_encoder": )" + object("Gemma4AudioEncoder", R"("output_dim": 8, "num_heads": 3)"),
       {},
       "1024 features cannot be divided among 3 heads"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "audio_encoder": )" + object("Gemma4AudioEncoder", R"("output_dim": 8, "num_layers": 1001)"),
       {},
       "/config/num_layers: more than 1000 blocks are not accepted"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "audio_encoder": )" + object("Gemma4AudioEncoder", R"("output_dim": 8, "context_left": 1000000)"),
       {},
       "expected an integer from 0 to 65536"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "audio_encoder": )" +
           object("Gemma4AudioEncoder", R"("output_dim": 8, "sscp_kernel_sizes": [[3, 3]])"),
       {},
       "/config/sscp_kernel_sizes: expected two pairs, got 1"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "audio_encoder": )" +
           object("Gemma4AudioEncoder",
                  R"("output_dim": 8, "input_feat_size": 1, "sscp_kernel_sizes": [[3, 9], [3, 3]])"),
       {},
       "1 features are too few for two convolutions"},
      {"Gemma4Backbone", kGemma4 + R"(, "layer_types": [])", {}, "/config/layer_types: 0 types for 1 layers"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "num_kv_shared_layers": 1)",
       {},
       "/config/num_kv_shared_layers: expected fewer layers than num_layers"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "hidden_size_per_layer_input": -1)",
       {},
       "/config/hidden_size_per_layer_input: expected an integer from 0"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "enable_moe_block": true, "num_experts": 4)",
       {},
       "expected false without num_experts and expert_intermediate_dim"},
      {"Gemma4Backbone",
       kGemma4 + R"(, "enable_moe_block": true, "num_experts": 2, "expert_intermediate_dim": 4)",
       {},
       "8 experts cannot be chosen of 2"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "vision_encoder_config": {"name": "a"})",
       {},
       "MobileNetV5Backbone: the key 'stackwise_block_types' is missing"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "vision_encoder_config": 3)",
       {},
       "/config/vision_encoder_config: expected the config of a MobileNetV5Backbone, or null"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "vision_encoder_config": {)" + kMobile + "}",
       {},
       "the encoder in vision_encoder_config must have images of a fixed size"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "vision_hidden_size": 7,)" +
           R"( "vision_encoder_config": {"image_shape": [16, 16, 3], )" + kMobile + "}",
       {},
       "vision_hidden_size is 7, but the results of the encoder have 2048 features"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "audio_encoder_config": {"name": "a"})",
       {},
       "Gemma3nAudioEncoder: the key 'hidden_size' is missing"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "audio_encoder_config": 3)",
       {},
       "/config/audio_encoder_config: expected the config of a Gemma3nAudioEncoder, or null"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "audio_encoder_config": {)" + kGemma3nAudio +
           R"(, "num_attention_heads": 3})",
       {},
       "8 features cannot be divided among 3 heads"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "audio_encoder_config": {)" + kGemma3nAudio +
           R"(, "num_attention_heads": 2})",
       {},
       "audio_hidden_size is 32, but the results of the encoder have 8 features"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "audio_soft_tokens_per_image": 1000000)",
       {},
       "/config/audio_soft_tokens_per_image: expected at most 65536"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "relu", "num_kv_shared_layers": 1)",
       {},
       "layer 1 shares keys, but no layer of its type before the shared ones has any"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2000000000, "hidden_activation": "relu")",
       {},
       "more than 64 inputs are not accepted"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "altup_active_idx": 2, "hidden_activation": "relu")",
       {},
       "expected an integer from 0 to 1"},
      {"Gemma3nBackbone",
       kGemma3n + R"(, "altup_num_inputs": 2, "hidden_activation": "rule")",
       {},
       "expected the name of an activation"},
      {"Qwen3MoeBackbone", kGrouped + kExperts, {}, "3 experts cannot be chosen of 2"},
      {"Qwen3_5Backbone",
       kQwen3_5 + R"(, "vision_encoder": {"class_name": "Dense", "config": {"units": 2}})",
       {},
       "/config/vision_encoder: expected a Qwen3_5VisionEncoder, not a Dense"},
      {"Qwen3_5Backbone",
       kQwen3_5 + R"(, "vision_encoder": )" +
           object("Qwen3_5VisionEncoder", kQwen3_5Encoder + R"(, "num_heads": 2, "out_hidden_size": 9)"),
       {},
       "/config/vision_encoder: the encoder gives 9 features, and the text model has 8"},
      {"Qwen3_5Backbone",
       kQwen3_5 + R"(, "vision_encoder": )" + object("Qwen3_5VisionEncoder", kQwen3_5Encoder + R"(, "num_heads": 3)"),
       {},
       "/config/num_heads: 8 features cannot be divided among 3 heads"},
      {"Qwen3_5Backbone",
       kQwen3_5 + R"(, "vision_encoder": )" + object("Qwen3_5VisionEncoder", kQwen3_5Encoder + R"(, "num_heads": 4)"),
       {},
       "/config/num_heads: heads of 2 features cannot be divided among rows and columns of pairs"},
      {"Qwen3_5Backbone",
       kQwen3_5 + R"(, "vision_encoder": )" +
           object("Qwen3_5VisionEncoder", kQwen3_5Encoder + R"(, "num_heads": 2, "spatial_merge_size": 2000000000)"),
       {},
       "/config/spatial_merge_size: more than 1024 are not accepted"},
      {"Qwen3_5Backbone",
       kQwen3_5 + R"(, "mrope_section": [1, 1])",
       {},
       "/config/mrope_section: expected null, or the pairs of features for frames, rows and columns"},
      {"Qwen3_5Backbone", kQwen3_5 + R"(, "mrope_section": [1, -1, 1])", {}, "/config/mrope_section: expected null"},
      {"QwenMoeBackbone",
       kGrouped + kExperts + R"(, "shared_expert_intermediate_dim": 4, "output_router_logits": true)",
       {},
       "/config/output_router_logits: KerasHub's backbone cannot pass router logits"},
      {"GptOssBackbone", kGrouped + R"(, "num_experts": 2, "top_k": 3)", {}, "3 experts cannot be chosen of 2"},
      {"T5GemmaBackbone",
       kSides + R"(, "encoder_layer_types": ["full_attention"], "decoder_layer_types": [])",
       {},
       "/config/decoder_layer_types: expected the types of 1 layers"},
      {"T5GemmaBackbone",
       kSides + R"(, "encoder_layer_types": ["sliding_attention"], "decoder_layer_types": ["full_attention"])",
       {},
       "a layer with sliding attention needs a size"},
      {"T5Gemma2Backbone",
       kSides + R"(, "encoder_layer_types": ["full_attention"], "decoder_layer_types": ["full_attention"],)"
                R"( "vision_encoder": {})",
       {},
       "/config/vision_encoder: expected null: attn supports T5Gemma 2 only for text"},
      {"RoformerV2Backbone",
       kSizes + R"(, "head_size": 3)",
       {},
       "/config/head_size: 2 heads of 3 features are not the 8 of hidden_dim"},
      {"ESMBackbone",
       kSizes + R"(, "position_embedding_type": "absolute", "max_sequence_length": null)",
       {},
       "/config/max_sequence_length: expected an integer > 0 for absolute positions"},
      {"DebertaV3Backbone", kSizes + R"(, "bucket_size": 0)", {}, "/config/bucket_size"},
      {"XLNetBackbone", kSizes + R"(, "dropout": 1.5)", {}, "expected a number from 0 to 1"},
      {"UnknownBackbone", kSizes, {}, "'UnknownBackbone' is not known"},
      {"TransformerEncoder", block + R"(, "dropout": -1)", Shape{5, 6},
       "/config/dropout: expected a number from 0 to 1"},
      {"TransformerEncoder", R"("intermediate_dim": 8, "num_heads": 7)", Shape{5, 6},
       "6 features are too few for 7 heads"},
      {"TransformerEncoder", block, Shape{6}, "expected an input (batch, length, width)"},
      {"TransformerDecoder", block + R"(, "decoder_sequence_shape": [null, 5, 7])", Shape{5, 6},
       "decoder_sequence_shape is (None, 5, 7)"},
      {"TransformerDecoder",
       block + R"(, "decoder_sequence_shape": [null, 5, 6], "encoder_sequence_shape": [null, 5, 6])", Shape{5, 6},
       "was built with an encoder sequence, but is called without one"},
      {"RotaryEmbedding", R"("rope_type": "llama")", Shape{5, 6}, "expected one of linear, dynamic, yarn"},
      {"RotaryEmbedding", R"("sequence_axis": -1)", Shape{5, 6}, "must differ"},
      {"RotaryEmbedding", "", Shape{5, 7}, "expected an even number of features"},
      {"AlibiBias", "", Shape{5, 7}, "expected scores (batch, heads, queries, keys)"},
      {"ReversibleEmbedding", R"("input_dim": 4, "output_dim": 4, "reverse_dtype": "half")", Shape{5},
       "/config/reverse_dtype"},
      {"PositionEmbedding", R"("sequence_length": 4)", Shape{5, 7}, "the input has 5 positions, but the layer has 4"},
      {"MaskedLMHead", "", Shape{5, 7}, "one of 'vocabulary_size' and 'token_embedding' is needed"},
      {"ViTPatchingAndEmbedding", R"("image_size": [4, 4], "patch_size": 5, "hidden_dim": 8)", Shape{4, 4, 3},
       "cannot be divided into patches"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.class_name);
    CAPTURE(row.config);
    const std::string text = hub_refusal(object(row.class_name, row.config), row.input);
    CAPTURE(text);
    CHECK(text.find(row.reason) != std::string::npos);
    CHECK(text.starts_with("it.json:1:"));
  }
}

TEST_CASE("keras_hub: a backbone needs only required arguments, and is written with all") {
  const keras::Model model = read(object("BertBackbone", kSizes));
  CHECK(model.name() == "bert_backbone");
  const json written = json::parse(model.config({}));
  CHECK(written["module"] == "keras_hub.src.models.bert.bert_backbone");
  CHECK(written["registered_name"] == "keras_hub>BertBackbone");
  CHECK(written["config"]["dropout"] == 0.1);
  CHECK(written["config"]["max_sequence_length"] == 512);
  CHECK(written["config"]["num_segments"] == 2);
  CHECK(params(read(written.dump())) == params(model));
}

TEST_CASE("keras_hub: an unsupported family is rejected with the reason, not with another family's name") {
  struct Row {
    std::string class_name, reason;
  };
  for (const Row& row : {Row{"DenseNetBackbone", "it is a convolutional network"},
                         {"StableDiffusion3Backbone", "image generation by diffusion"},
                         {"DFineBackbone", "boxes around objects"},
                         {"FeaturePyramidBackbone", "it is a convolutional network"},
                         {"MobileNetImageClassifier", "it is a convolutional network"},
                         {"RQVAEBackbone", "it quantizes vectors, without attention"},
                         {"FluxTextToImage", "image generation by diffusion"},
                         {"SAM3PromptableConceptImageSegmenter", "it finds objects by texts"},
                         {"Qwen3_5VideoConverter", "attn has this family for texts and images, without videos"},
                         {"Gemma4AssistantCausalLM", "without videos and assistants"}}) {
    json text = json::parse(object(row.class_name, R"("name": "x", "trainable": true)"));
    text["module"] = "keras_hub.src.models.some.some_backbone";
    std::string message;
    try {
      (void)read(text.dump()).lower({});
    } catch (const Error& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find(row.reason) != std::string::npos);
    CHECK(message.find("did you mean") == std::string::npos);
  }
}

TEST_CASE("keras_hub: a preprocessor without images has 0 tokens per image") {
  json task = json::parse(object("GPT2CausalLM", R"("name": "t")"));
  task["config"]["backbone"] = json::parse(object("GPT2Backbone", kSizes));
  json preprocessor = json::parse(object("Gemma3CausalLMPreprocessor", R"("sequence_length": 20)"));
  preprocessor["config"]["num_vision_tokens_per_image"] = 0;
  preprocessor["config"]["max_images_per_prompt"] = 0;
  task["config"]["preprocessor"] = preprocessor;
  CHECK(read(task.dump()).class_name() == "GPT2CausalLM");
  task["config"]["preprocessor"]["config"]["num_vision_tokens_per_image"] = -1;
  CHECK(hub_refusal(task.dump(), {}).find("/num_vision_tokens_per_image: expected an integer") != std::string::npos);
}

TEST_CASE("keras_hub: presets of KerasNLP, the old name, are read and written under the new one") {
  json preset = json::parse(object("GPT2Backbone", kSizes));
  preset["module"] = "keras_nlp.src.models.gpt2.gpt2_backbone";
  preset["registered_name"] = "keras_nlp>GPT2Backbone";
  const json written = json::parse(read(preset.dump()).config({}));
  CHECK(written["module"] == "keras_hub.src.models.gpt2.gpt2_backbone");
  CHECK(written["registered_name"] == "keras_hub>GPT2Backbone");
}

TEST_CASE("keras_hub: a backbone from another module is rejected at its place") {
  json task = json::parse(
      object("GPT2CausalLM",
             R"("backbone": )" + object("GPT2Backbone", R"("name": "backbone", "trainable": true, )" + kSizes)));
  CHECK(hub_refusal(task.dump()).empty());
  json& backbone = task["config"]["backbone"];
  backbone["module"] = "mine";
  backbone["registered_name"] = "mine>GPT2Backbone";
  CHECK(hub_refusal(task.dump())
            .find("/config/backbone: the backbone of a GPT2CausalLM is KerasHub's GPT2Backbone, not a "
                  "custom class of this name") != std::string::npos);
}

TEST_CASE("keras_hub: an error in a part of a layer names the place and the layer once") {
  const std::string said =
      hub_refusal(object("Qwen3Backbone", kGrouped + R"(, "head_dim": 4, "rope_scaling_factor": -1.0)"));
  CAPTURE(said);
  CHECK(said.ends_with("/rope_scaling_factor: expected a number > 0"));
  for (const std::string part : {"it.json", "'transformer_layer_0'"}) {
    CHECK(said.find(part) != std::string::npos);
    CHECK(said.find(part) == said.rfind(part));
  }
}

TEST_CASE("keras_hub: a frozen backbone freezes every layer in it") {
  const keras::Summary summary = read(object("RobertaBackbone", kSizes + R"(, "trainable": false)")).summary();
  CHECK(summary.trainable_params == 0);
  for (const keras::SummaryRow& row : summary.rows) CHECK(row.trainable.value_or(false) == false);
}

TEST_CASE("keras_hub: layers of a group share ALBERT's blocks") {
  const auto with = [](const std::string& more) {
    return params(read(object("AlbertBackbone", kSizes + R"(, "embedding_dim": 4)" + more)));
  };
  CHECK(with("") < with(R"(, "num_groups": 2)"));
  CHECK(with(R"(, "num_groups": 2)") == with(R"(, "num_inner_repetitions": 2)"));
}

TEST_CASE("keras_hub: a summary creates no table of positions, for any length") {
  const std::string encoding = object("SinePositionEncoding", "");
  CHECK(hub_refusal(encoding, Shape{5'000'000'000, 8'000'000'000}).empty());
  CHECK(hub_refusal(object("RotaryEmbedding", ""), Shape{5'000'000'000, 8'000'000'000}).empty());
}

TEST_CASE("keras_hub: a Qwen 3.5 with a vision encoder has no images without their arrays") {
  const std::string encoder = object("Qwen3_5VisionEncoder", kQwen3_5Encoder + R"(, "num_heads": 2)");
  const keras::Model model = read(object("Qwen3_5Backbone", kQwen3_5 + R"(, "vision_encoder": )" + encoder));
  const graph::Graph graph = model.lower({});
  std::map<std::string, Shape> shapes;
  for (const graph::ValueId id : graph.inputs) shapes.emplace(graph.value(id).name, graph.value(id).shape);
  CHECK(shapes.at("token_ids") == Shape{1, 128});
  CHECK(shapes.at("pixel_values") == Shape{1, 0, 2, 2, 2, 3});
  CHECK(shapes.at("image_grid_thw") == Shape{1, 0, 3});
  CHECK(shapes.at("vision_indices") == Shape{1, 0});
  CHECK(graph.value(graph.outputs.front().value).shape == Shape{1, 128, 8});

  keras::LowerOptions options;
  options.input_shapes = {{"pixel_values", {1, 8, 2, 2, 2, 3}}, {"image_grid_thw", {1, 1, 3}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(model.lower(options)),
                       doctest::Contains("vision_indices are (1, 0), but the images have 2 rows"), Error);
  options.input_shapes["pixel_values"] = {1, 6, 2, 2, 2, 3};
  CHECK_THROWS_WITH_AS(static_cast<void>(model.lower(options)),
                       doctest::Contains("6 patches cannot be divided into squares of 4 in 1 images"), Error);
}
