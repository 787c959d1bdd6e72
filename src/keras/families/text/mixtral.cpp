// Mixtral, whose feed-forward networks are mixtures of experts (keras_hub/src/models/mixtral).
#include <array>
#include <optional>
#include <string>

#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/mixture.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::mixtral {
namespace {

/// Mixtral's attention is Mistral's.
class MixtralFamily final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] std::optional<std::int64_t> window() const override;
  [[nodiscard]] std::string_view prefix() const override { return ""; }

  std::optional<Positive> sliding_window = Positive(512);
};

void MixtralFamily::fields(Fields& f) {
  LinearRotaryFamily::fields(f);
  f("sliding_window", sliding_window);
}

std::optional<std::int64_t> MixtralFamily::window() const {
  return sliding_window ? std::optional(sliding_window->value) : std::nullopt;
}

class MixtralMoeExperts final : public ExpertBank {
 public:
  void fields(Fields& f) override {
    ExpertBank::fields(f);
    f("activation_fn", activation);
    f("kernel_initializer", kernel_initializer);
  }
  void build(Weights& w, Call&) override {
    const Shape in{num_experts, hidden_dim, intermediate_dim}, out{num_experts, intermediate_dim, hidden_dim};
    w.add("expert_feedforward_gate_dense", in, kernel_initializer);
    w.add("expert_feedforward_intermediate_dense", in, kernel_initializer);
    w.add("expert_feedforward_output_dense", out, kernel_initializer);
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression x = rows(call);
    const Expression gate(b, activation.apply(b, times(call, x, 0).cast(DType::float32)));
    return Call::result(times(call, times(call, x, 1) * gate.cast(call.compute_dtype()), 2));
  }

 private:
  Activation activation = *Activation::named("silu");
};

class MixtralSparseMoeBlock final : public SparseMoeBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("router_jitter_noise", router_jitter_noise);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("router_aux_loss_coef", router_aux_loss_coef);
    f("kernel_initializer", kernel_initializer);
  }
  void build(Weights&, Call&) override {
    make_router();
    make_experts("MixtralMoeExperts", "expert_bank");
  }

 private:
  Routing route(Call& call, const TensorPtr& rows) override {
    const TensorPtr logits = apply(call, *router_, {rows});
    return {expert_weights(Expression(call.builder(), logits->id), top_k, true), logits};
  }

  Number router_jitter_noise, layer_norm_epsilon = 1e-5, router_aux_loss_coef = 0.02;
};

class MixtralTransformerDecoder final : public GatedBlock {
 public:
  MixtralTransformerDecoder()
      : GatedBlock(std::make_unique<MixtralFamily>(),
                   {.attention_class = "CachedMixtralAttention", .norm_class = "MixtralLayerNormalization"}) {}

  void build(Weights& w, Call& call) override {
    called_ = call.lowering().automatic_name("MixtralSparseMoeBlock");
    GatedBlock::build(w, call);
  }

 private:
  void further_fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("router_jitter_noise", router_jitter_noise);
    if (!f.reading()) return;
    f("router_aux_loss_coef", router_aux_loss_coef);  // KerasHub accepts the key but does not write it
  }
  void make_feed_forward(std::int64_t hidden_dim) override {
    experts_ = &make("MixtralSparseMoeBlock", called_, "_sparse_moe_block",
                     {{"hidden_dim", hidden_dim},
                      {"intermediate_dim", intermediate_dim.value},
                      {"num_experts", num_experts.value},
                      {"top_k", top_k.value},
                      {"router_jitter_noise", router_jitter_noise.value},
                      {"router_aux_loss_coef", router_aux_loss_coef.value}});
  }
  TensorPtr feed_forward(Call& call, const TensorPtr& x) override { return apply(call, *experts_, {x}); }

  Positive num_experts, top_k = 2;
  Number router_jitter_noise, router_aux_loss_coef = 0.02;
  std::string called_;
  Layer* experts_ = nullptr;
};

class MixtralBackbone : public GroupedBackbone {
 public:
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("router_jitter_noise", router_jitter_noise);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f.required("num_key_value_heads", num_key_value_heads);
    f("router_aux_loss_coef", router_aux_loss_coef);
    f("sliding_window", family_.sliding_window);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
  }

 protected:
  void assemble() override {
    assemble_with(family_, false, "MixtralTransformerDecoder", "MixtralLayerNormalization",
                  {{"num_experts", num_experts.value},
                   {"top_k", top_k.value},
                   {"router_jitter_noise", router_jitter_noise.value},
                   {"router_aux_loss_coef", router_aux_loss_coef.value}});
  }

 private:
  MixtralFamily family_;
  Positive num_experts, top_k = 2;
  Number router_jitter_noise{0.0}, router_aux_loss_coef{0.02};
};

void sizes(ConfigMap& map) {
  decoder_sizes(map);
  map.same("num_experts", "num_local_experts", 8);
  map.same("top_k", "num_experts_per_tok", 2);
  rope_theta(map, "rope_max_wavelength", 1e6);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-5);
  map.nullable("sliding_window", "sliding_window", Json());
  even_heads(map);
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {false});
}

constexpr std::string_view kModule = "keras_hub.src.models.mixtral.mixtral_decoder";
constexpr std::array kLayers = {
    ClassInfo{.name = "CachedMixtralAttention",
              .make = make_grouped_attention<MixtralFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mixtral.mixtral_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "MixtralMoeExperts",
              .make = make_layer<MixtralMoeExperts>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = "expert_feedforward_gate_dense: - d_model u;"
                         " expert_feedforward_intermediate_dense: - d_model u;"
                         " expert_feedforward_output_dense: - u d_model"},
    ClassInfo{.name = "MixtralSparseMoeBlock",
              .make = make_layer<MixtralSparseMoeBlock>,
              .since = kAnyKeras,
              .module = kModule},
    ClassInfo{.name = "MixtralTransformerDecoder",
              .make = make_layer<MixtralTransformerDecoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    rms_norm_record("MixtralLayerNormalization", "keras_hub.src.models.mixtral.mixtral_layer_norm"),
};

constexpr std::array kModels = {
    model_record<MixtralBackbone>("MixtralBackbone", "keras_hub.src.models.mixtral.mixtral_backbone"),
    model_record<CausalLM>("MixtralCausalLM", "keras_hub.src.models.mixtral.mixtral_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"mixtral", "Mixtral", "Mixtral", sizes},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// Each expert has separate arrays.
constexpr std::array<NameRow, 13> kNames{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true},
    {"transformer_layer_{}/self_attention/query/kernel", "layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/key/kernel", "layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/value/kernel", "layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"transformer_layer_{}/self_attention_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/mixtral_sparse_moe_block/sparse_feedforward_gate_dense/kernel",
     "layers.{}.block_sparse_moe.gate.weight", kLinear},
    {"transformer_layer_{}/mixtral_sparse_moe_block/experts/expert_feedforward_gate_dense",
     "layers.{}.block_sparse_moe.experts.{expert}.w1.weight", kLinear},
    {"transformer_layer_{}/mixtral_sparse_moe_block/experts/expert_feedforward_intermediate_dense",
     "layers.{}.block_sparse_moe.experts.{expert}.w3.weight", kLinear},
    {"transformer_layer_{}/mixtral_sparse_moe_block/experts/expert_feedforward_output_dense",
     "layers.{}.block_sparse_moe.experts.{expert}.w2.weight", kLinear},
    {"transformer_layer_{}/feedforward_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"MixtralBackbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "MixtralTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kEndToken,
               .transformers_class = "LlamaTokenizer",
               .transformers_file = "tokenizer.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "mixtral", .keras_class = "MixtralTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "mixtral",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::mixtral
