// Mistral (keras_hub/src/models/mistral), and the Llamas that only its class supports.
#include <array>
#include <optional>
#include <string>

#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::mistral {
namespace {

/// Mistral: a query attends to the last `sliding_window` positions, including its own.
class MistralFamily final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] Dim head_size(Dim width, Dim heads) const override {
    return head_dim ? head_dim->value : LinearRotaryFamily::head_size(width, heads);
  }
  [[nodiscard]] std::optional<std::int64_t> window() const override;

  std::optional<Positive> sliding_window = Positive(512), head_dim;
};

void MistralFamily::fields(Fields& f) {
  LinearRotaryFamily::fields(f);
  f("sliding_window", sliding_window);
  f("head_dim", head_dim);
}

std::optional<std::int64_t> MistralFamily::window() const {
  return sliding_window ? std::optional(sliding_window->value) : std::nullopt;
}

class MistralTransformerDecoder final : public GatedBlock {
 public:
  MistralTransformerDecoder()
      : GatedBlock(std::make_unique<MistralFamily>(),
                   {.attention_class = "CachedMistralAttention", .norm_class = "MistralLayerNormalization"}) {}
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

void sizes(ConfigMap& map) {
  decoder_sizes(map);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  linear_scaling(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.nullable("sliding_window", "sliding_window", map.as_keras_hub() ? Json() : Json(4096));
  map.nullable("head_dim", "head_dim", Json());
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {false});
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

constexpr std::array kLayers = {
    ClassInfo{.name = "CachedMistralAttention",
              .make = make_grouped_attention<MistralFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mistral.mistral_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "MistralTransformerDecoder",
              .make = make_layer<MistralTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mistral.mistral_transformer_decoder",
              .role = Role::transformer},
    rms_norm_record("MistralLayerNormalization", "keras_hub.src.models.mistral.mistral_layer_norm"),
};

constexpr std::array kModels = {
    model_record<MistralBackbone>("MistralBackbone", "keras_hub.src.models.mistral.mistral_backbone"),
    model_record<CausalLM>("MistralCausalLM", "keras_hub.src.models.mistral.mistral_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "mistral", .stem = "Mistral", .architecture = "Mistral", .sizes = sizes},
    HuggingFaceModel{.model_type = "llama",
                     .stem = "Mistral",
                     .architecture = "Llama",
                     .sizes = llama_as_mistral,
                     .is_needed = needs_mistral},
};

constexpr std::array kWeightNames = {weights::NameTable{"MistralBackbone", "model.", kLlamaNames}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{
        .name = "MistralTekkenTokenizer", .kind = TokenizerKind::byte_pairs, .start = kStartToken, .end = kEndToken},
    KerasClass{.name = "MistralTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kEndToken,
               .transformers_class = "LlamaTokenizer",
               .transformers_file = "tokenizer.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "mistral", .keras_class = "MistralTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "mistral",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::mistral
