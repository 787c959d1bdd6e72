// Decoders that store query, key and value as one array in Hugging Face's files: GPT-NeoX, Bloom, Falcon.
#include "attn/base/error.h"
#include "frontends/hugging_face/shared.h"
#include "frontends/hugging_face/walks.h"

namespace attn::keras {
namespace {

/// The first of two names that the config has.
const char* either(const ConfigMap& map, const char* now, const char* other) {
  return map.reading() && !map.find(now) && map.find(other) ? other : now;
}

/// Feed-forward layers are four times as wide as the model; transformers' config has no key for the width. Narrower
/// ones are padded with zeros (weights/hugging_face/wide_blocks.h).
void four_times_as_wide(ConfigMap& map, const char* width) {
  constexpr const char* kKeras = "intermediate_dim";
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (map.reading()) {
    if (map.integer(width) > kMost) map.find(width)->fail("a size of over 2^40 is not accepted");
    return map.put(kKeras, 4 * map.integer(width), width);
  }
  const auto inner = map.of_keras(kKeras).get<std::int64_t>(), outer = map.of_keras("hidden_dim").get<std::int64_t>();
  if (inner > 4 * outer)
    throw bad_input("transformers has this family with feed-forward layers of 4 × {} = {} features, and {} are more",
                    outer, 4 * outer, inner);
}

/// The fraction of features with rotary positions, and their wavelength.
void turning_features(ConfigMap& map) {
  constexpr const char *kShare = "rotary_percentage", *kWavelength = "rotary_max_wavelength";
  if (!map.reading()) {
    map.put("rotary_pct", map.of_keras(kShare));
    return map.put("rotary_emb_base", map.of_keras(kWavelength));
  }
  const auto put = [&](const char* keras, const char* now, const char* then, double fallback) {
    std::optional<Ref> found = map.find(then);
    if (const auto parameters = rope_parameters(map))
      if (const auto inside = parameters->find(now); inside && !inside->is_null()) found = inside;
    map.put(keras, found ? found->json() : Json(fallback), found ? std::string_view(found->pointer()).substr(1) : "");
  };
  put(kShare, "partial_rotary_factor", "rotary_pct", 0.25);
  put(kWavelength, "rope_theta", "rotary_emb_base", 10000.0);
  if (const auto scaling = rope_scaling(map)) map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
}

}  // namespace

void gpt_neox(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("dropout", "hidden_dropout", 0.0);
  turning_features(map);
  map.same("max_sequence_length", "max_position_embeddings", 2048);
  map.same("layer_norm_epsilon", "layer_norm_eps", 1e-5);
  activation_beside_tanh_gelu(map);
  // In KerasHub the head is always the token embedding, and its class has no such key. A config contains the key only
  // if it is false.
  map.same("tie_word_embeddings", "tie_word_embeddings", !map.reading());
  map.fixed("use_parallel_residual", {true});
  map.fixed("attention_bias", {true});
}

void bloom(ConfigMap& map) {
  const char* const width = either(map, "hidden_size", "n_embed");
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", either(map, "n_layer", "num_hidden_layers"));
  map.same("num_heads", either(map, "n_head", "num_attention_heads"));
  map.same("hidden_dim", width);
  four_times_as_wide(map, width);
  map.same("dropout", "hidden_dropout", 0.0);
  map.same("layer_norm_epsilon", "layer_norm_epsilon", 1e-5);
  map.fixed("apply_residual_connection_post_layernorm", {false});
  map.fixed("tie_word_embeddings", {true});
}

void falcon(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_attention_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  if (map.reading() && !map.find("ffn_hidden_size")) {
    four_times_as_wide(map, "hidden_size");
  } else {
    map.same("intermediate_dim", "ffn_hidden_size");
  }
  map.same("attention_dropout_rate", "attention_dropout", 0.0);
  map.same("feedforward_dropout_rate", "hidden_dropout", 0.0);
  map.fixed("layer_norm_epsilon", {1e-5});  // KerasHub's blocks have no other value
  if (!map.reading() && map.of_keras("layer_norm_epsilon") != 1e-5)
    throw bad_input("transformers has one layer_norm_epsilon for a whole Falcon, and KerasHub's blocks have 1e-05");
  map.always("alibi", true, false);
  map.always("multi_query", false, true);
  map.always("parallel_attn", false, true);
  map.always("bias", true, false);
  map.always("new_decoder_architecture", false, false);
  map.fixed("activation", {"gelu"});
  map.fixed("tie_word_embeddings", {true});
}

}  // namespace attn::keras
