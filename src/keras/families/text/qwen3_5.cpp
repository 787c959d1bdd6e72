// Qwen 3.5 (keras_hub/src/models/qwen3_5): most blocks have the linear attention of Gated DeltaNet (Yang et al.,
// arxiv.org/abs/2412.06464), and some have grouped attention. Texts may contain images.
#include <array>
#include <cstdint>

#include "families/blocks/decoders/qwen3_5_block.h"
#include "families/blocks/decoders/qwen3_5_layers.h"
#include "families/blocks/decoders/qwen_attention.h"
#include "families/blocks/images/qwen3_5_vision_encoder.h"
#include "families/blocks/images/qwen3_5_vision_layers.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::qwen3_5 {
namespace {

constexpr std::string_view kLayersModule = "keras_hub.src.models.qwen3_5.qwen3_5_layers",
                           kVisionModule = "keras_hub.src.models.qwen3_5.qwen3_5_vision_encoder";

class Qwen3_5TransformerDecoder final : public Qwen3_5Block {
 private:
  void feed_forward_fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f("activation", activation);
  }
  void make_feed_forward(std::int64_t hidden_dim) override {
    feed_forward_.gate = &make_dense("feedforward_gate_dense", intermediate_dim);
    feed_forward_.up = &make_dense("feedforward_intermediate_dense", intermediate_dim);
    feed_forward_.down = &make_dense("feedforward_output_dense", hidden_dim);
    feed_forward_.activation = activation;
  }
  TensorPtr feed_forward(Call& call, const TensorPtr& x) override { return feed_forward_(call, x); }

  Positive intermediate_dim;
  Activation activation = *Activation::named("silu");
  Qwen3_5FeedForward feed_forward_;
};

class Qwen3_5Backbone final : public Qwen3_5Stack {
 private:
  void feed_forward_fields(Fields& f) override { f.required("intermediate_dim", intermediate_dim); }
  void assemble() override { assemble_stack("Qwen3_5TransformerDecoder", Json::object()); }
};

/// Returns the record of a layer of the vision encoder.
constexpr ClassInfo vision_record(std::string_view name, LayerPtr (*make)(), Role role = Role::other) {
  return {.name = name, .make = make, .since = kAnyKeras, .module = kVisionModule, .role = role};
}

constexpr std::array kLayers = {
    ClassInfo{.name = "Qwen3_5LayerNorm",
              .make = make_qwen3_5_norm,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::normalization,
              .symbols = "scale: d_model"},
    rms_norm_record<Qwen3LayerNorm>("Qwen3_5RMSNormGated", kLayersModule),
    ClassInfo{.name = "Qwen3_5Attention",
              .make = make_qwen3_5_attention,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_5.qwen3_5_attention",
              .role = Role::attention,
              .symbols = "query/kernel: d_model h -; query_norm/scale: d_head; key/kernel: d_model g d_head;"
                         " key_norm/scale: d_head; value/kernel: d_model g d_head;"
                         " attention_output/kernel: h d_head d_model"},
    ClassInfo{.name = "Qwen3_5GatedDeltaNet",
              .make = make_qwen3_5_delta_net,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_5.qwen3_5_gated_delta_net",
              .role = Role::kernel,
              .symbols = "conv1d_kernel: - -; dt_bias: -; A_log: -"},
    ClassInfo{.name = "Qwen3_5TransformerDecoder",
              .make = make_layer<Qwen3_5TransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_5.qwen3_5_decoder",
              .role = Role::transformer},
    ClassInfo{.name = "Qwen3_5InterleaveEmbeddings",
              .make = make_qwen3_5_interleave,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::merge},
    vision_record("Qwen3_5VisionPatchEmbed", make_qwen3_5_patch_embed, Role::embedding),
    vision_record("Qwen3_5VisionRotaryEmbedding", make_qwen3_5_vision_rotary, Role::embedding),
    vision_record("Qwen3_5VisionMLP", make_qwen3_5_vision_mlp),
    vision_record("Qwen3_5VisionAttention", make_qwen3_5_vision_attention, Role::attention),
    vision_record("Qwen3_5VisionBlock", make_qwen3_5_vision_block, Role::transformer),
    vision_record("Qwen3_5VisionPatchMerger", make_qwen3_5_patch_merger),
    vision_record("Qwen3_5VisionEncoder", make_layer<Qwen3_5VisionEncoder>),
};

constexpr std::array kModels = {
    model_record<Qwen3_5Backbone>("Qwen3_5Backbone", "keras_hub.src.models.qwen3_5.qwen3_5_backbone"),
    model_record<Qwen3_5CausalLM>("Qwen3_5CausalLM", "keras_hub.src.models.qwen3_5.qwen3_5_causal_lm"),
};

constexpr std::array kTokenizers = {qwen3_5_tokenizer("Qwen3_5Tokenizer")};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "qwen3_5", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::qwen3_5
