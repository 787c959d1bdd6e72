// Qwen 1.5 and 2 with mixtures of experts, one of which is applied to all tokens (keras_hub/src/models/qwen_moe).
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/decoders/qwen_attention.h"
#include "families/blocks/decoders/qwen_mixture.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::qwen_moe {
namespace {

constexpr QwenMixtureNames kNames{"QwenSparseMoeBlock", "QwenMoeExperts", "QwenMoeMLP"};

/// KerasHub's class names the attributes of its projections differently from each other.
class QwenMoeFamily final : public QwenFamily {
 public:
  [[nodiscard]] std::string_view prefix() const override { return ""; }
  [[nodiscard]] std::string_view output_prefix() const override { return "_"; }
};

/// Adds the shared expert, multiplied by the sigmoid of a gate.
class SharedMoeBlock final : public QwenSparseMoeBlock {
 public:
  SharedMoeBlock() : QwenSparseMoeBlock(kNames) {}

  void build(Weights& w, Call& call) override {
    QwenSparseMoeBlock::build(w, call);
    shared_expert_ = &make(names_.mlp, "shared_expert_dense", "shared_expert_dense",
                           {{"intermediate_dim", shared_expert_intermediate_dim.value},
                            {"hidden_dim", hidden_dim.value},
                            {"kernel_initializer", kernel_initializer.json}});
    shared_gate_ = &make_unbiased("shared_expert_gate_dense", 1);
  }

 private:
  void further_fields(Fields& f) override {
    f.required("shared_expert_intermediate_dim", shared_expert_intermediate_dim);
  }
  Expression completed(Call& call, const TensorPtr& rows, const Expression& sum) override {
    graph::Builder& b = call.builder();
    const Expression gate(b, apply(call, *shared_gate_, {rows})->id);
    const Expression shared(b, apply(call, *shared_expert_, {rows})->id);
    return sum + shared * gate.unary(graph::UnaryFn::sigmoid);
  }

  Positive shared_expert_intermediate_dim;
  Layer* shared_expert_ = nullptr;
  Layer* shared_gate_ = nullptr;
};

class QwenMoeTransformerDecoder final : public QwenMixtureBlock {
 public:
  QwenMoeTransformerDecoder()
      : QwenMixtureBlock(std::make_unique<QwenMoeFamily>(),
                         {.attention_class = "QwenMoeAttention", .norm_class = "QwenMoeLayerNorm"}, kNames) {}

 private:
  void further_fields(Fields& f) override {
    f.required("moe_intermediate_dim", mixture_.moe_intermediate_dim);
    f.required("shared_expert_intermediate_dim", shared_expert_intermediate_dim);
    f.required("num_experts", mixture_.num_experts);
    f.required("top_k", mixture_.top_k);
    f.required("norm_top_k_prob", mixture_.norm_top_k_prob);
    f.required("decoder_sparse_step", mixture_.decoder_sparse_step);
    f("mlp_only_layers", mixture_.mlp_only_layers);
    f("output_router_logits", output_router_logits);
    f("router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient);
    if (f.reading()) f("layer_index", layer_index);  // KerasHub accepts it but does not write it
  }
  [[nodiscard]] bool is_sparse() const override { return mixture_.is_sparse(layer_index); }
  [[nodiscard]] Json further_arguments() const override {
    return {{"shared_expert_intermediate_dim", shared_expert_intermediate_dim.value}};
  }

  Positive shared_expert_intermediate_dim;
  bool output_router_logits = false;
  std::int64_t layer_index = 0;
};

class QwenMoeBackbone : public GroupedBackbone {
 public:
  QwenMoeBackbone() { family_.sliding_window_size = Positive(32768); }
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f.required("moe_intermediate_dim", mixture_.moe_intermediate_dim);
    f.required("shared_expert_intermediate_dim", shared_expert_intermediate_dim);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f.required("num_key_value_heads", num_key_value_heads);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("tie_word_embeddings", tie_word_embeddings);
    f("use_sliding_window_attention", family_.use_sliding_window_attention);
    f("sliding_window_size", family_.sliding_window_size);
    f.required("num_experts", mixture_.num_experts);
    f("top_k", mixture_.top_k);
    f("norm_top_k_prob", mixture_.norm_top_k_prob);
    f("decoder_sparse_step", mixture_.decoder_sparse_step);
    f("mlp_only_layers", mixture_.mlp_only_layers);
    f("output_router_logits", output_router_logits);
    // KerasHub accepts it but does not write it.
    if (f.reading()) f("router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient);
  }

 protected:
  void check_fields(const Ref& config) override {
    GroupedBackbone::check_fields(config);
    if (output_router_logits)
      config["output_router_logits"].fail("KerasHub's backbone cannot pass router logits from block to block");
  }
  void assemble() override {
    // KerasHub does not pass the number of a block, so all blocks decide as the first one does.
    assemble_with(family_, tie_word_embeddings, "QwenMoeTransformerDecoder", "QwenLayerNorm",
                  {{"moe_intermediate_dim", mixture_.moe_intermediate_dim.value},
                   {"shared_expert_intermediate_dim", shared_expert_intermediate_dim.value},
                   {"num_experts", mixture_.num_experts.value},
                   {"top_k", mixture_.top_k.value},
                   {"norm_top_k_prob", mixture_.norm_top_k_prob},
                   {"decoder_sparse_step", mixture_.decoder_sparse_step.value},
                   {"mlp_only_layers", mixture_.mlp_only_layers}});
  }

 private:
  QwenMoeFamily family_;
  QwenMixtureFields mixture_;
  Positive shared_expert_intermediate_dim;
  bool tie_word_embeddings = false, output_router_logits = false;
};

/// Converts which blocks have a mixture. KerasHub's class supports all of them or none.
void mixtures(ConfigMap& map) {
  constexpr const char *kStep = "decoder_sparse_step", *kDense = "mlp_only_layers";
  if (map.as_keras_hub()) return map.same(kStep, kStep, 1);
  QwenMixtureFields fields;
  if (!map.reading()) {
    fields.decoder_sparse_step = map.of_keras(kStep).get<std::int64_t>();
    fields.mlp_only_layers = map.of_keras(kDense).get<std::vector<std::int64_t>>();
    Json dense = Json::array();
    const std::int64_t count = fields.is_sparse(0) ? 0 : map.of_keras("num_layers").get<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) dense.push_back(i);
    map.put(kStep, 1);
    return map.put(kDense, dense);
  }
  const auto step = map.find(kStep), dense = map.find(kDense);
  if (step) fields.decoder_sparse_step = step->integer_from(1);
  if (dense)
    for (const Ref& block : dense->elements()) fields.mlp_only_layers.push_back(block.integer_from(0));
  const bool sparse = fields.is_sparse(0);
  for (std::int64_t i = 1, count = std::min(map.integer("num_hidden_layers"), kMaxBlocks); i < count; ++i)
    if (fields.is_sparse(i) != sparse) map.refuse(dense ? *dense : *step, "mixtures in only some layers");
  map.put(kStep, 1);
  map.put(kDense, sparse ? Json::array() : Json::array({0}));
}

void sizes(ConfigMap& map) {
  decoder_sizes(map);
  map.same("moe_intermediate_dim", "moe_intermediate_size", 1408);
  map.same("shared_expert_intermediate_dim", "shared_expert_intermediate_size", 5632);
  map.same("num_experts", "num_experts", 60);
  map.same("top_k", "num_experts_per_tok", 4);
  map.same("norm_top_k_prob", "norm_topk_prob", false);
  mixtures(map);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.unread("tie_word_embeddings", "tie_word_embeddings", false);
  if (map.reading()) {
    map.put("use_sliding_window_attention", !map.as_keras_hub() && slides(map), "use_sliding_window");
  } else {
    map.put("use_sliding_window", map.of_keras("use_sliding_window_attention"));
    map.put("max_window_layers", 0);
  }
  window_size(map);
  even_heads(map);
  map.fixed("hidden_act", {"silu"});
}

constexpr std::string_view kModule = "keras_hub.src.models.qwen_moe.qwen_moe_decoder";
constexpr std::array kLayers = {
    ClassInfo{.name = "QwenMoeAttention",
              .make = make_grouped_attention<QwenMoeFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen_moe.qwen_moe_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = kNames.mlp, .make = make_layer<QwenMlp>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = kNames.experts,
              .make = make_layer<QwenExperts>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = kQwenExpertsSymbols},
    ClassInfo{.name = kNames.block, .make = make_layer<SharedMoeBlock>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = "QwenMoeTransformerDecoder",
              .make = make_layer<QwenMoeTransformerDecoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    rms_norm_record("QwenMoeLayerNorm", "keras_hub.src.models.qwen_moe.qwen_moe_layernorm"),
};

constexpr std::array kModels = {
    model_record<QwenMoeBackbone>("QwenMoeBackbone", "keras_hub.src.models.qwen_moe.qwen_moe_backbone"),
    model_record<CausalLM>("QwenMoeCausalLM", "keras_hub.src.models.qwen_moe.qwen_moe_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"qwen2_moe", "QwenMoe", "Qwen2Moe", sizes},
};

using namespace weights::layouts;
constexpr std::array<weights::NameRow, 10> kMixtureNames{{
    {"transformer_layer_{}/qwen_sparse_moe_block/sparse_feedforward_gate_dense/kernel", "layers.{}.mlp.gate.weight",
     kLinear},
    {.keras = "transformer_layer_{}/qwen_sparse_moe_block/experts/expert_feedforward_gate_dense",
     .hugging_face = "layers.{}.mlp.experts.{expert}.gate_proj.weight",
     .layout = kLinear,
     .second_half = "layers.{}.mlp.experts.{expert}.up_proj.weight"},
    {"transformer_layer_{}/qwen_sparse_moe_block/experts/expert_feedforward_output_dense",
     "layers.{}.mlp.experts.{expert}.down_proj.weight", kLinear},
    {"transformer_layer_{}/qwen_sparse_moe_block/shared_expert_dense/feedforward_gate_dense/kernel",
     "layers.{}.mlp.shared_expert.gate_proj.weight", kLinear},
    {"transformer_layer_{}/qwen_sparse_moe_block/shared_expert_dense/feedforward_intermediate_dense/kernel",
     "layers.{}.mlp.shared_expert.up_proj.weight", kLinear},
    {"transformer_layer_{}/qwen_sparse_moe_block/shared_expert_dense/feedforward_output_dense/kernel",
     "layers.{}.mlp.shared_expert.down_proj.weight", kLinear},
    {"transformer_layer_{}/qwen_sparse_moe_block/shared_expert_gate_dense/kernel",
     "layers.{}.mlp.shared_expert_gate.weight", kLinear},
    {"transformer_layer_{}/qwen_moe_mlp/feedforward_gate_dense/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"transformer_layer_{}/qwen_moe_mlp/feedforward_intermediate_dense/kernel", "layers.{}.mlp.up_proj.weight",
     kLinear},
    {"transformer_layer_{}/qwen_moe_mlp/feedforward_output_dense/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
}};
constexpr auto kWeightRows = joined_names(kLlamaNames, kMixtureNames);
constexpr std::array kWeightNames = {weights::NameTable{"QwenMoeBackbone", "model.", kWeightRows}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "QwenMoeTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = kTextToken,
               .words = tokenizers::kQwenWords,
               .nfc = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "qwen2_moe", .keras_class = "QwenMoeTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "qwen_moe",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::qwen_moe
