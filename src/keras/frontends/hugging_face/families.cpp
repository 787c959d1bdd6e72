#include "frontends/hugging_face/families.h"

#include <algorithm>
#include <array>
#include <string>

#include "attn/base/text.h"
#include "classes/composite.h"
#include "frontends/hugging_face/shared.h"
#include "frontends/hugging_face/walks.h"

namespace attn::keras {
namespace {

/// Linear position scaling: positions are divided by a factor.
void linear_scaling(ConfigMap& map) {
  constexpr const char* kFactor = "rope_scaling_factor";
  if (!map.reading()) {
    const Json factor = map.of_keras(kFactor);
    if (factor.is_number() && factor != 1.0) map.put(kRopeScaling, {{"rope_type", "linear"}, {"factor", factor}});
    return;
  }
  const auto scaling = rope_scaling(map);
  if (!scaling) return;
  if (rope_type(*scaling) != "linear") return map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
  if (map.as_keras_hub()) return;
  const Ref factor = (*scaling)["factor"];
  if (factor.number() <= 0.0) factor.fail("expected a number above 0");
  map.put(kFactor, factor.json(), kRopeScaling);
}

/// The common keys of decoders with grouped attention.
void decoder_sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_query_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("num_key_value_heads", "num_key_value_heads", map.reading() ? map.result()["num_query_heads"] : Json());
}

bool has_own_heads(const ConfigMap& map) {
  const auto head_dim = map.find("head_dim");
  return head_dim && head_dim->integer_from(1) != map.integer("hidden_size") / map.integer("num_attention_heads");
}

/// For a class without head_dim: features are divided evenly among the heads.
void even_heads(ConfigMap& map) {
  if (!map.reading()) {
    const auto heads = map.of_keras("num_query_heads").get<std::int64_t>();
    return map.put("head_dim", map.of_keras("hidden_dim").get<std::int64_t>() / heads);
  }
  if (has_own_heads(map))
    map.unsupported(*map.find("head_dim"), "heads of another size than hidden_size / num_attention_heads");
}

void gpt2(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "n_layer");
  map.same("num_heads", "n_head");
  map.same("hidden_dim", "n_embd");
  if (map.reading() && (map.as_keras_hub() || !map.find("n_inner"))) {
    if (map.integer("n_embd") > std::int64_t{1} << 40) map.find("n_embd")->fail("a size of over 2^40 is not accepted");
    map.put("intermediate_dim", 4 * map.integer("n_embd"), "n_embd");
  } else {
    map.same("intermediate_dim", "n_inner");
  }
  map.same("dropout", "resid_pdrop", 0.1);
  map.same("max_sequence_length", "n_positions", 1024);
  map.fixed("activation_function", {"gelu_new", kTanhGelu});
  map.fixed("layer_norm_epsilon", {1e-5});
  map.fixed("scale_attn_weights", {true});
  map.fixed("scale_attn_by_inverse_layer_idx", {false});
  map.fixed("tie_word_embeddings", {true});
}

void llama3_scaling(ConfigMap& map) {
  struct Key {
    const char *keras, *hugging_face;
  };
  constexpr std::array<Key, 4> kKeys{{{"rope_frequency_adjustment_factor", "factor"},
                                      {"rope_low_freq_factor", "low_freq_factor"},
                                      {"rope_high_freq_factor", "high_freq_factor"},
                                      {"rope_pretraining_sequence_length", "original_max_position_embeddings"}}};
  if (!map.reading()) {
    if (map.of_keras(kKeys[0].keras).is_null()) return;
    Json scaling = {{"rope_type", "llama3"}};
    for (const Key& key : kKeys) scaling[key.hugging_face] = map.of_keras(key.keras);
    return map.put(kRopeScaling, std::move(scaling));
  }
  const auto scaling = rope_scaling(map);
  if (!scaling) return;
  if (rope_type(*scaling) != "llama3") map.unsupported(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
  for (const Key& key : kKeys) {
    const Ref value = (*scaling)[key.hugging_face];
    map.put(key.keras, value.json(), std::string_view(value.pointer()).substr(1));
  }
}

void llama(ConfigMap& map) {
  decoder_sizes(map);
  map.same("tie_word_embeddings", "tie_word_embeddings", false);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  llama3_scaling(map);
  map.unread("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  even_heads(map);
  map.fixed("hidden_act", {"silu"});
  map.fixed("attention_bias", {false});
  map.fixed("mlp_bias", {false});
}

/// Linear position scaling and explicit head sizes are supported by KerasHub's Mistral, but not by its Llama 3.
bool needs_mistral(const ConfigMap& map) {
  if (map.as_keras_hub()) return false;
  const auto scaling = rope_scaling(map);
  return has_own_heads(map) || (scaling && rope_type(*scaling) == "linear");
}

/// A Llama in the Mistral class, which is equivalent without a window.
void llama_as_mistral(ConfigMap& map) {
  decoder_sizes(map);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  if (const auto scaling = rope_scaling(map); scaling && rope_type(*scaling) != "linear")
    map.unsupported(*map.find("head_dim"),
                    "heads of another size than hidden_size / num_attention_heads with positions "
                    "scaled by '" +
                        rope_type(*scaling) + "'");
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.put("sliding_window", Json());
  map.nullable("head_dim", "head_dim", Json());
  map.fixed("hidden_act", {"silu"});
  map.fixed("attention_bias", {false});
  map.fixed("mlp_bias", {false});
  const auto tied = map.find("tie_word_embeddings");
  if (tied && tied->boolean())
    map.unsupported(*tied, "an output tied to the embedding with scaled positions or heads of their own size");
}

void mistral(ConfigMap& map) {
  decoder_sizes(map);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.nullable("sliding_window", "sliding_window", map.as_keras_hub() ? Json() : Json(4096));
  map.nullable("head_dim", "head_dim", Json());
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {false});
}

/// Windows of the layers from max_window_layers on; the class supports them for all layers or for none.
bool slides(ConfigMap& map) {
  if (!map.flag("use_sliding_window", false)) return false;
  const std::int64_t first = map.find("max_window_layers") ? map.find("max_window_layers")->integer_from(0) : 0;
  if (first >= map.integer("num_hidden_layers")) return false;
  if (first > 0) map.refuse(*map.find("max_window_layers"), "windows in some layers alone");
  return true;
}

void qwen2(ConfigMap& map) {
  decoder_sizes(map);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.same("tie_word_embeddings", "tie_word_embeddings", false);
  if (map.reading()) {
    // KerasHub's converter passes the flag to a constructor that does not have it.
    map.put("use_sliding_window_attention", !map.as_keras_hub() && slides(map), "use_sliding_window");
  } else {
    map.put("use_sliding_window", map.of_keras("use_sliding_window_attention"));
    map.put("max_window_layers", 0);
  }
  map.same("sliding_window_size", "sliding_window", 4096);
  even_heads(map);
  map.fixed("hidden_act", {"silu"});
}

void qwen3(ConfigMap& map) {
  decoder_sizes(map);
  map.same("head_dim", "head_dim", 128);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.same("tie_word_embeddings", "tie_word_embeddings", false);
  if (!map.reading()) {
    const Json window = map.of_keras("sliding_window_size");
    map.put("use_sliding_window", !window.is_null());
    map.put("sliding_window", window);
    map.put("max_window_layers", 0);
  } else {
    const bool all = map.as_keras_hub() ? map.flag("use_sliding_window", false) : slides(map);
    map.put("sliding_window_size", all ? Json(map.integer("sliding_window", 4096)) : Json(), "sliding_window");
  }
  map.fixed("hidden_act", {"silu"});
  map.fixed("attention_bias", {false});
}

/// The common keys of Gemma 1 and 2. Their feed-forward layers have half the width of KerasHub's intermediate_dim.
void gemma_sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_query_heads", "num_attention_heads");
  map.same("num_key_value_heads", "num_key_value_heads");
  map.same("hidden_dim", "hidden_size");
  map.times("intermediate_dim", "intermediate_size", 2);
  map.same("head_dim", "head_dim", 256);
  map.unread("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.fixed("hidden_activation", {kTanhGelu, "gelu"});  // transformers reads "gelu" in older files as this one
  map.fixed("attention_bias", {false});
  map.fixed("tie_word_embeddings", {true});
  map.fixed("rope_theta", {10000.0});
}

void gemma(ConfigMap& map) { gemma_sizes(map); }

/// KerasHub always divides by √head_dim.
void query_scale(ConfigMap& map) {
  if (!map.reading()) return map.put("query_pre_attn_scalar", map.of_keras("head_dim"));
  const auto scalar = map.find("query_pre_attn_scalar");
  if (scalar && scalar->number() != static_cast<double>(map.integer("head_dim", 256)))
    map.refuse(*scalar, "queries divided by another root than that of head_dim");
}

void gemma2(ConfigMap& map) {
  gemma_sizes(map);
  query_scale(map);
  if (map.reading()) {
    for (const char* key : {"use_post_ffw_norm", "use_post_attention_norm", "use_sliding_window_attention"})
      map.put(key, true);
  }
  map.nullable("final_logit_soft_cap", "final_logit_softcapping", 30.0);
  map.nullable("attention_logit_soft_cap", "attn_logit_softcapping", 50.0);
  map.same("sliding_window_size", "sliding_window", 4096);
}

void gemma3(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  if (map.reading()) map.put("image_size", Json());
  map.same("num_layers", "num_hidden_layers");
  map.same("num_query_heads", "num_attention_heads");
  map.same("num_key_value_heads", "num_key_value_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("head_dim", "head_dim", 256);
  query_scale(map);
  if (map.reading()) {
    for (const char* key :
         {"use_query_key_norm", "use_post_ffw_norm", "use_post_attention_norm", "use_sliding_window_attention"})
      map.put(key, true);
  }
  map.nullable("attention_logit_soft_cap", "attn_logit_softcapping", Json());
  map.nullable("final_logit_soft_cap", "final_logit_softcapping", Json());
  map.same("sliding_window_size", "sliding_window", 4096);
  if (map.reading()) {
    const auto scaling = rope_scaling(map);
    if (scaling && rope_type(*scaling) != "linear")
      map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
    map.put("global_rope_scaling_factor", scaling ? (*scaling)["factor"].json() : Json(1.0), kRopeScaling);
    map.put("vision_encoder", Json());
  } else if (const Json factor = map.of_keras("global_rope_scaling_factor"); factor != 1.0) {
    map.put(kRopeScaling, {{"rope_type", "linear"}, {"factor", factor}});
  }
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.fixed("rope_theta", {1000000.0});
  map.fixed("rope_local_base_freq", {10000.0});
  map.fixed("sliding_window_pattern", {6});
  map.fixed("hidden_activation", {kTanhGelu});
  map.fixed("attention_bias", {false});
  map.fixed("tie_word_embeddings", {true});
}

void bert(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.unread("dropout", "hidden_dropout_prob", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 512);
  map.unread("num_segments", "type_vocab_size", 2);
  map.fixed("layer_norm_eps", {1e-12});
  activation_beside_tanh_gelu(map);
  map.fixed("position_embedding_type", {"absolute"});
}

void vit(ConfigMap& map) {
  if (map.reading()) {
    const std::int64_t image = map.integer("image_size"), patch = map.integer("patch_size");
    map.put("image_shape", {image, image, map.integer("num_channels", 3)}, "image_size");
    map.put("patch_size", {patch, patch}, "patch_size");
  } else {
    const Json image = map.of_keras("image_shape");
    map.put("image_size", image.at(0));
    map.put("num_channels", image.at(2));
    map.put("patch_size", map.of_keras("patch_size").at(0));
  }
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("mlp_dim", "intermediate_size");
  map.same("dropout_rate", "hidden_dropout_prob", 0.0);
  map.same("attention_dropout", "attention_probs_dropout_prob", 0.0);
  map.same("use_mha_bias", "qkv_bias", true);
  map.unread("layer_norm_epsilon", "layer_norm_eps", 1e-12);
  map.fixed("hidden_act", {"gelu"});
}

void opt(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "ffn_dim");
  map.same("dropout", "dropout", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 2048);
  if (!map.reading()) {
    map.put("word_embed_proj_dim", map.of_keras("hidden_dim"));
  } else if (const auto width = map.find("word_embed_proj_dim"); width && width->json() != map.result()["hidden_dim"]) {
    map.refuse(*width, "embeddings of another width than the blocks");
  }
  map.fixed("activation_function", {"relu"});
  map.fixed("do_layer_norm_before", {true});
  map.fixed("enable_bias", {true});
  map.fixed("tie_word_embeddings", {true});
}

void mixtral(ConfigMap& map) {
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

/// Factors for each pair of features, selected by the sequence length ("su", now "longrope").
void long_rope(ConfigMap& map) {
  if (!map.reading()) {
    if (map.of_keras("rope_scaling_type").is_null()) return;
    return map.put(kRopeScaling, {{"type", "longrope"},
                                  {"rope_type", "longrope"},
                                  {"short_factor", map.of_keras("rope_scaling_short_factor")},
                                  {"long_factor", map.of_keras("rope_scaling_long_factor")}});
  }
  const auto scaling = rope_scaling(map);
  if (!scaling) return;
  const std::string type = rope_type(*scaling);
  if (type != "su" && type != "longrope") map.unsupported(*scaling, "positions scaled by '" + type + "'");
  map.put("rope_scaling_type", "su", kRopeScaling);
  map.put("rope_scaling_short_factor", (*scaling)["short_factor"].json(), kRopeScaling);
  map.put("rope_scaling_long_factor", (*scaling)["long_factor"].json(), kRopeScaling);
}

/// Whether a layer has rotary positions, by its index.
void turning_layers(ConfigMap& map) {
  constexpr const char *kKeras = "rope_layer_enabled_list", *kOwn = "no_rope_layers";  // 1: it has
  if (!map.reading()) {
    Json list = Json::array();
    for (const Json& turns : map.of_keras(kKeras)) list.push_back(turns.get<bool>() ? 1 : 0);
    return map.put(kOwn, std::move(list));
  }
  Json list = Json::array();
  if (const auto found = map.find(kOwn)) {
    for (const Ref& turns : found->elements()) list.push_back(turns.is_bool() ? turns.boolean() : turns.integer() != 0);
  } else {
    const std::int64_t interval = map.integer("no_rope_layer_interval", 4);
    const std::int64_t count = std::min(map.integer("num_hidden_layers"), kMaxBlocks);
    for (std::int64_t i = 1; i <= count; ++i) list.push_back(i % interval != 0);
  }
  map.put(kKeras, std::move(list), map.find(kOwn) ? kOwn : "");
}

/// KerasHub supports only layers of the same type.
void layer_types(ConfigMap& map) {
  constexpr const char *kKey = "layer_types", *kType = "full_attention";
  if (!map.reading()) return map.put(kKey, map.of_keras(kKey));
  if (const auto found = map.find(kKey)) {
    for (const Ref& type : found->elements())
      if (type.text() != kType) map.refuse(type, "layers of the type '" + shortened(type.text()) + "'");
    return map.put(kKey, found->json(), kKey);
  }
  const auto count = static_cast<std::size_t>(std::min(map.integer("num_hidden_layers"), kMaxBlocks));
  map.put(kKey, std::vector<std::string>(count, kType));
}

void smollm3(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_attention_heads", "num_attention_heads");
  map.same("num_key_value_heads", "num_key_value_heads", 4);
  map.same("attention_bias", "attention_bias", false);
  map.same("attention_dropout", "attention_dropout", 0.0);
  turning_layers(map);
  layer_types(map);
  map.same("mlp_bias", "mlp_bias", false);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.same("max_position_embeddings", "max_position_embeddings", 32768);
  rope_theta(map, "rope_theta", 2e6);
  if (map.reading()) {
    map.put("partial_rotary_factor", 1.0);
    if (const auto scaling = rope_scaling(map))
      map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
  } else {
    map.put("pad_token_id", Json());  // transformers' default exceeds a small vocabulary
  }
  map.fixed("use_sliding_window", {false});
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {true});
}

void phi3(ConfigMap& map) {
  decoder_sizes(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-5);
  map.same("max_sequence_length", "max_position_embeddings", 4096);
  map.same("pretraining_sequence_length", "original_max_position_embeddings", 4096);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  long_rope(map);
  map.fixed("sliding_window", {Json()});
  if (!map.reading()) map.put("pad_token_id", Json());  // transformers' default exceeds a small vocabulary
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {false});
}

void bart(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "encoder_layers");
  map.same("num_heads", "encoder_attention_heads");
  map.same("hidden_dim", "d_model");
  map.same("intermediate_dim", "encoder_ffn_dim");
  // The decoder has the same size.
  for (const auto& [keras, hugging_face] :
       {std::pair("num_layers", "decoder_layers"), std::pair("num_heads", "decoder_attention_heads"),
        std::pair("intermediate_dim", "decoder_ffn_dim")}) {
    if (!map.reading()) {
      map.put(hugging_face, map.of_keras(keras));
    } else if (const auto own = map.find(hugging_face); own && own->json() != map.result()[keras]) {
      map.refuse(*own, "a decoder of another size than the encoder");
    }
  }
  map.same("dropout", "dropout", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 1024);
  map.fixed("activation_function", {"gelu"});
  map.fixed("scale_embedding", {false});
  map.fixed("is_encoder_decoder", {true});
}

constexpr std::array<HuggingFaceFamily, 21> kFamilies{
    {{"gpt2", "GPT2", "GPT2", gpt2},
     {"llama", "Llama3", "Llama", llama},
     {"llama", "Llama", "Llama", llama},  // for writing only: KerasHub reads all of them as Llama 3
     {"mistral", "Mistral", "Mistral", mistral},
     {"qwen2", "Qwen", "Qwen2", qwen2},
     {"qwen3", "Qwen3", "Qwen3", qwen3},
     {"gemma", "Gemma", "Gemma", gemma},
     {"gemma2", "Gemma", "Gemma2", gemma2},
     {"gemma3_text", "Gemma3", "Gemma3", gemma3},
     {"bert", "Bert", "Bert", bert},
     {"vit", "ViT", "ViT", vit},
     {"opt", "OPT", "OPT", opt, false},
     {"mixtral", "Mixtral", "Mixtral", mixtral},
     {"phi3", "Phi3", "Phi3", phi3, false},
     {"bart", "Bart", "Bart", bart},
     {"smollm3", "SmolLM3", "SmolLM3", smollm3},
     {"gpt_neox", "GPTNeoX", "GPTNeoX", gpt_neox, false},
     {"bloom", "Bloom", "Bloom", bloom, false},
     {"falcon", "Falcon", "Falcon", falcon, false},
     {"t5", "T5", "T5", t5, false},
     {"llama", "Mistral", "Llama", llama_as_mistral, true, needs_mistral}}};

}  // namespace

std::span<const HuggingFaceFamily> hugging_face_families() { return kFamilies; }

}  // namespace attn::keras
