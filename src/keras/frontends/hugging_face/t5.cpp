// T5: an encoder and a decoder of the same size, with relative positions.
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "frontends/hugging_face/shared.h"
#include "frontends/hugging_face/walks.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

constexpr const char *kActivation = "activation", *kGated = "use_gated_activation";
constexpr const char *kProjection = "feed_forward_proj", *kFunction = "dense_act_fn", *kIsGated = "is_gated_act";
constexpr std::string_view kGatedBegin = "gated-";

/// "relu", or "gated-gelu", which means tanh-approximated gelu in transformers; two other keys repeat it and have
/// priority.
void feed_forward(ConfigMap& map) {
  if (!map.reading()) {
    const Json own = map.of_keras(kActivation);
    const std::string name = own.is_string() ? own.get<std::string>() : "gelu_new";
    if (!own.is_string() && own != gelu_approximate())
      throw bad_input("transformers has no name for the activation of this T5");
    const bool gated = map.of_keras(kGated).get<bool>();
    const std::string named = gated && name == "gelu_new" ? "gelu" : name;
    map.put(kProjection, (gated ? std::string(kGatedBegin) : "") + named);
    map.put(kFunction, name);
    return map.put(kIsGated, gated);
  }
  const auto found = map.find(kProjection);
  std::string name = found ? found->text() : "relu";
  const bool gated = name.starts_with(kGatedBegin);
  if (gated) name.erase(0, kGatedBegin.size());
  if (gated && name == "gelu") name = "gelu_new";
  const char* origin = found ? kProjection : "";
  if (const auto function = map.find(kFunction)) {
    name = function->text();
    origin = kFunction;
  }
  const bool by_tanh = name == "gelu_new" || name == "gelu_fast" || name == kTanhGelu;
  map.put(kActivation, by_tanh ? gelu_approximate() : Json(name), origin);
  map.put(kGated, map.flag(kIsGated, gated), map.find(kIsGated) ? kIsGated : found ? kProjection : "");
}

}  // namespace

void t5(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("hidden_dim", "d_model");
  map.same("intermediate_dim", "d_ff");
  map.same("num_layers", "num_layers");
  constexpr const char* kOfDecoder = "num_decoder_layers";
  if (!map.reading()) {
    map.put(kOfDecoder, map.of_keras("num_layers"));
  } else if (const auto own = map.find(kOfDecoder); own && own->json() != map.result()["num_layers"]) {
    map.refuse(*own, "a decoder of another size than the encoder");
  }
  map.same("num_heads", "num_heads");
  feed_forward(map);
  if (!map.reading() && map.of_keras("key_value_dim").is_null()) {
    map.put("d_kv", map.of_keras("hidden_dim").get<std::int64_t>() / map.of_keras("num_heads").get<std::int64_t>());
  } else {
    map.same("key_value_dim", "d_kv", 64);
  }
  map.same("dropout", "dropout_rate", 0.1);
  map.same("layer_norm_epsilon", "layer_norm_epsilon", 1e-6);
  // transformers 5 always ties the embeddings, and has a separate key for the scaling of logits. KerasHub scales them
  // if they are tied.
  constexpr const char* kScaled = "scale_decoder_outputs";
  if (map.reading() && map.find(kScaled)) {
    map.put("tie_embedding_weights", map.flag(kScaled, true), kScaled);
  } else {
    map.same("tie_embedding_weights", "tie_word_embeddings", true);
  }
  map.fixed("relative_attention_num_buckets", {32});
  map.fixed("relative_attention_max_distance", {128});
  map.fixed("is_encoder_decoder", {true});
  if (map.reading()) return;
  map.put("decoder_start_token_id", 0);
  map.put("pad_token_id", 0);
  map.put("eos_token_id", 1);
}

}  // namespace attn::keras
