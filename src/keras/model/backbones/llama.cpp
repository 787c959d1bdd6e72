// Decoder backbones with RMS norms and grouped attention: Llama, Llama 3, Mistral, Mixtral, Qwen 2 and 3, Phi-3,
// SmolLM3.
#include <array>

#include "classes/layers/decoder_block.h"
#include "classes/layers/decoder_families.h"
#include "model/backbones/text.h"

namespace attn::keras {
namespace {

/// The common part of all except SmolLM3.
class GroupedBackbone : public TextBackbone {
 public:
  GroupedBackbone() { dropout = 0; }

 protected:
  /// The first fields of all of them; the order may differ.
  void sizes(Fields& f) {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_query_heads", num_query_heads);
    f.required("hidden_dim", hidden_dim);
  }
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_key_value_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                     num_query_heads.value, num_key_value_heads.value));
  }

  /// Assembles the whole model. Blocks have the fields of `family`, and `further` arguments.
  void assemble_with(AttentionFamily& family, bool tied, std::string_view block_class, std::string_view norm_class,
                     const Json& further = Json::object()) {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const Json rows = {{"tie_weights", tied}, {"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}};
    Json block = arguments_of(family);
    block.update({{"intermediate_dim", intermediate_dim.value},
                  {"num_query_heads", num_query_heads.value},
                  {"num_key_value_heads", num_key_value_heads.value},
                  {"layer_norm_epsilon", layer_norm_epsilon.value},
                  {"kernel_initializer", normal_initializer("RandomNormal", 0.02)},
                  {"dropout", dropout.value}});
    block.update(further);
    const TensorRef x = through_blocks(call(token_embedding(rows), {token_ids}), block_class, "transformer_layer",
                                       [&](auto) { return block; }, {{"decoder_padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = call(norm_class, "sequence_output_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {x});
  }

  Positive num_query_heads, num_key_value_heads;
  Number layer_norm_epsilon{1e-6};
};

class LlamaBackbone : public GroupedBackbone {
 public:
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    family_.fields(f);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    // KerasHub accepts it but does not write it, so it cannot load its own config of a tied model.
    if (f.reading() || tie_word_embeddings) f("tie_word_embeddings", tie_word_embeddings);
  }

 protected:
  void assemble() override { assemble_with(family_, tie_word_embeddings, "LlamaTransformerDecoder", "LlamaLayerNorm"); }

 private:
  LlamaFamily family_;
  bool tie_word_embeddings = false;
};

class MistralBackbone : public GroupedBackbone {
 public:
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f.required("num_key_value_heads", num_key_value_heads);
    f("sliding_window", family_.sliding_window);
    f("head_dim", family_.head_dim);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
  }

 protected:
  void assemble() override { assemble_with(family_, false, "MistralTransformerDecoder", "MistralLayerNormalization"); }

 private:
  MistralFamily family_;
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

class QwenBackbone : public GroupedBackbone {
 public:
  QwenBackbone() { family_.sliding_window_size = Positive(32768); }
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("tie_word_embeddings", tie_word_embeddings);
    f("use_sliding_window_attention", family_.use_sliding_window_attention);
    f("sliding_window_size", family_.sliding_window_size);
  }

 protected:
  void assemble() override { assemble_with(family_, tie_word_embeddings, "QwenTransformerDecoder", "QwenLayerNorm"); }

 private:
  QwenFamily family_;
  bool tie_word_embeddings = true;
};

class Qwen3Backbone : public GroupedBackbone {
 public:
  Qwen3Backbone() {
    family_.sliding_window_size = Positive(32768);
    dropout = Number(0.0);
  }
  void fields(Fields& f) override {
    sizes(f);
    f("head_dim", family_.head_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("tie_word_embeddings", tie_word_embeddings);
    f("sliding_window_size", family_.sliding_window_size);
  }

 protected:
  void assemble() override { assemble_with(family_, tie_word_embeddings, "Qwen3TransformerDecoder", "Qwen3LayerNorm"); }

 private:
  Qwen3Family family_;
  bool tie_word_embeddings = true;
};

class Phi3Backbone : public GroupedBackbone {
 public:
  Phi3Backbone() { dropout = Number(0.0); }
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    family_.fields(f);
  }

 protected:
  void assemble() override {
    assemble_with(family_, false, "Phi3Decoder", "Phi3LayerNorm", {{"hidden_dim", hidden_dim.value}});
  }

 private:
  Phi3Family family_;
};

class SmolLM3Backbone : public TextBackbone {
 public:
  SmolLM3Backbone() { dropout = 0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_layers", num_layers);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("attention_bias", attention_bias);
    f.required("attention_dropout", attention_dropout);
    f.required("rope_layer_enabled_list", rope_layer_enabled_list);
    f.required("layer_types", layer_types);
    f.required("mlp_bias", mlp_bias);
    f.required("layer_norm_epsilon", layer_norm_epsilon);
    f.required("max_position_embeddings", max_position_embeddings);
    f.required("rope_theta", rope_theta);
    f.required("partial_rotary_factor", partial_rotary_factor);
  }

 protected:
  /// KerasHub does not pass the dtype on: its layers have the global policy, float32, for any dtype of the config.
  void assemble() override {
    const DTypePolicy stated = policy;
    policy.name = "float32";
    policy.compute = policy.variable = DType::float32;
    assemble_layers();
    policy = stated;
  }

 private:
  void assemble_layers() {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    Json block = {{"hidden_size", hidden_dim.value},
                  {"num_attention_heads", num_attention_heads.value},
                  {"num_key_value_heads", num_key_value_heads.value},
                  {"attention_bias", attention_bias},
                  {"attention_dropout", attention_dropout.value},
                  {"rope_layer_enabled_list", rope_layer_enabled_list},
                  {"layer_types", layer_types},
                  {"intermediate_size", intermediate_dim.value},
                  {"mlp_bias", mlp_bias},
                  {"layer_norm_epsilon", layer_norm_epsilon.value},
                  {"max_position_embeddings", max_position_embeddings.value},
                  {"rope_theta", rope_theta.value},
                  {"partial_rotary_factor", partial_rotary_factor.value}};
    const TensorRef x =
        through_blocks(call(token_embedding(Json::object()), {token_ids}), "SmolLM3DecoderLayer", "transformer_layer",
                       [&](std::int64_t i) {
                         block["layer_idx"] = i;
                         return block;
                       },
                       {{"decoder_padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = call("RMSNormalization", "sequence_output_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {x});
  }

  Positive num_attention_heads, num_key_value_heads, max_position_embeddings;
  bool attention_bias = false, mlp_bias = false;
  Number attention_dropout, layer_norm_epsilon, rope_theta, partial_rotary_factor;
  std::vector<bool> rope_layer_enabled_list;
  std::vector<std::string> layer_types;
};

constexpr std::array kLlamaBackbones = {
    backbone_record<LlamaBackbone>("LlamaBackbone", "keras_hub.src.models.llama.llama_backbone"),
    backbone_record<LlamaBackbone>("Llama3Backbone", "keras_hub.src.models.llama3.llama3_backbone"),
    backbone_record<MistralBackbone>("MistralBackbone", "keras_hub.src.models.mistral.mistral_backbone"),
    backbone_record<MixtralBackbone>("MixtralBackbone", "keras_hub.src.models.mixtral.mixtral_backbone"),
    backbone_record<QwenBackbone>("QwenBackbone", "keras_hub.src.models.qwen.qwen_backbone"),
    backbone_record<Qwen3Backbone>("Qwen3Backbone", "keras_hub.src.models.qwen3.qwen3_backbone"),
    backbone_record<Phi3Backbone>("Phi3Backbone", "keras_hub.src.models.phi3.phi3_backbone"),
    backbone_record<SmolLM3Backbone>("SmolLM3Backbone", "keras_hub.src.models.smollm3.smollm3_backbone"),
};

}  // namespace

Family llama_backbones() { return kLlamaBackbones; }

}  // namespace attn::keras
