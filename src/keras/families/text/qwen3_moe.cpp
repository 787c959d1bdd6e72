// Qwen 3 with mixtures of experts (keras_hub/src/models/qwen3_moe).
#include <array>

#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/decoders/qwen_attention.h"
#include "families/blocks/decoders/qwen_mixture.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::qwen3_moe {
namespace {

constexpr QwenMixtureNames kNames{"Qwen3SparseMoeBlock", "Qwen3MoeExperts", "Qwen3MoeMLP"};

class Qwen3MoeFamily final : public Qwen3Family {
 public:
  Qwen3MoeFamily() : Qwen3Family(1e-6) {}
};

class Qwen3MoeBlock final : public QwenSparseMoeBlock {
 public:
  Qwen3MoeBlock() : QwenSparseMoeBlock(kNames) {}
};

class Qwen3MoeTransformerDecoder final : public QwenMixtureBlock {
 public:
  Qwen3MoeTransformerDecoder()
      : QwenMixtureBlock(std::make_unique<Qwen3MoeFamily>(),
                         {.attention_class = "Qwen3MoeAttention", .norm_class = "Qwen3MoeLayerNorm"}, kNames) {}

 private:
  void further_fields(Fields& f) override {
    f.required("moe_intermediate_dim", mixture_.moe_intermediate_dim);
    f.required("num_experts", mixture_.num_experts);
    f.required("top_k", mixture_.top_k);
    f.required("norm_top_k_prob", mixture_.norm_top_k_prob);
    f("is_sparse_mlp", is_sparse_mlp);
    f("router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient);
  }
  [[nodiscard]] bool is_sparse() const override { return is_sparse_mlp; }

  bool is_sparse_mlp = false;
};

class Qwen3MoeBackbone : public GroupedBackbone {
 public:
  Qwen3MoeBackbone() { family_.sliding_window_size = Positive(32768); }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_query_heads", num_query_heads);
    f("head_dim", family_.head_dim);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("moe_intermediate_dim", mixture_.moe_intermediate_dim);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f.required("num_key_value_heads", num_key_value_heads);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("tie_word_embeddings", tie_word_embeddings);
    f("sliding_window_size", family_.sliding_window_size);
    f.required("num_experts", mixture_.num_experts);
    f("top_k", mixture_.top_k);
    f("norm_top_k_prob", mixture_.norm_top_k_prob);
    f("decoder_sparse_step", mixture_.decoder_sparse_step);
    f("mlp_only_layers", mixture_.mlp_only_layers);
    f("router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient);
  }

 protected:
  void assemble() override {
    assemble_blocks(family_, tie_word_embeddings, "Qwen3MoeTransformerDecoder", "Qwen3MoeLayerNorm",
                    [&](std::int64_t i) {
                      return Json{{"moe_intermediate_dim", mixture_.moe_intermediate_dim.value},
                                  {"num_experts", mixture_.num_experts.value},
                                  {"top_k", mixture_.top_k.value},
                                  {"norm_top_k_prob", mixture_.norm_top_k_prob},
                                  {"is_sparse_mlp", mixture_.is_sparse(i)}};
                    });
  }

 private:
  Qwen3MoeFamily family_;
  QwenMixtureFields mixture_;
  bool tie_word_embeddings = false;
};

void sizes(ConfigMap& map) {
  decoder_sizes(map);
  map.same("head_dim", "head_dim", 128);
  map.same("moe_intermediate_dim", "moe_intermediate_size", 768);
  map.same("num_experts", "num_experts", 128);
  map.same("top_k", "num_experts_per_tok", 8);
  map.same("norm_top_k_prob", "norm_topk_prob", false);
  map.same("decoder_sparse_step", "decoder_sparse_step", 1);
  map.unread("mlp_only_layers", "mlp_only_layers", Json::array());
  rope_theta(map, "rope_max_wavelength", 10000.0);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.same("tie_word_embeddings", "tie_word_embeddings", false);
  map.same("router_aux_loss_coefficient", "router_aux_loss_coef", 0.001);
  if (!map.reading()) {
    const Json window = map.of_keras("sliding_window_size");
    map.put("use_sliding_window", !window.is_null());
    map.put("sliding_window", window);
    map.put("max_window_layers", 0);
  } else {
    // KerasHub's converter reads the size without the flag.
    const bool all = map.as_keras_hub() ? map.find("sliding_window").has_value() : slides(map);
    map.put("sliding_window_size", all ? Json(map.integer("sliding_window", 4096)) : Json(), "sliding_window");
  }
  map.fixed("hidden_act", {"silu"});
  map.fixed("attention_bias", {false});
}

constexpr std::string_view kModule = "keras_hub.src.models.qwen3_moe.qwen3_moe_decoder";
constexpr std::array kLayers = {
    ClassInfo{.name = "Qwen3MoeAttention",
              .make = make_grouped_attention<Qwen3MoeFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_moe.qwen3_moe_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = kNames.mlp, .make = make_layer<QwenMlp>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = kNames.experts,
              .make = make_layer<QwenExperts>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = kQwenExpertsSymbols},
    ClassInfo{.name = kNames.block, .make = make_layer<Qwen3MoeBlock>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = "Qwen3MoeTransformerDecoder",
              .make = make_layer<Qwen3MoeTransformerDecoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    rms_norm_record<Qwen3LayerNorm>("Qwen3MoeLayerNorm", "keras_hub.src.models.qwen3_moe.qwen3_moe_layernorm"),
};

constexpr std::array kModels = {
    model_record<Qwen3MoeBackbone>("Qwen3MoeBackbone", "keras_hub.src.models.qwen3_moe.qwen3_moe_backbone"),
    model_record<CausalLM>("Qwen3MoeCausalLM", "keras_hub.src.models.qwen3_moe.qwen3_moe_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"qwen3_moe", "Qwen3Moe", "Qwen3Moe", sizes},
};

using namespace weights::layouts;
constexpr std::array<weights::NameRow, 6> kMixtureNames{{
    {"transformer_layer_{}/qwen3_sparse_moe_block/sparse_feedforward_gate_dense/kernel", "layers.{}.mlp.gate.weight",
     kLinear},
    {.keras = "transformer_layer_{}/qwen3_sparse_moe_block/experts/expert_feedforward_gate_dense",
     .hugging_face = "layers.{}.mlp.experts.{expert}.gate_proj.weight",
     .layout = kLinear,
     .second_half = "layers.{}.mlp.experts.{expert}.up_proj.weight"},
    {"transformer_layer_{}/qwen3_sparse_moe_block/experts/expert_feedforward_output_dense",
     "layers.{}.mlp.experts.{expert}.down_proj.weight", kLinear},
    {"transformer_layer_{}/qwen3_moe_mlp/feedforward_gate_dense/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"transformer_layer_{}/qwen3_moe_mlp/feedforward_intermediate_dense/kernel", "layers.{}.mlp.up_proj.weight",
     kLinear},
    {"transformer_layer_{}/qwen3_moe_mlp/feedforward_output_dense/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
}};
constexpr auto kWeightRows = joined_names(kLlamaNames, kMixtureNames);
constexpr std::array kWeightNames = {weights::NameTable{"Qwen3MoeBackbone", "model.", kWeightRows}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "Qwen3MoeTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = "<|im_end|>",
               .pad = kTextToken,
               .words = tokenizers::kQwenWords,
               .nfc = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "qwen3_moe", .keras_class = "Qwen3MoeTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "qwen3_moe",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::qwen3_moe
