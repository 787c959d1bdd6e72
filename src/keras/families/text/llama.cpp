// Llama and Llama 3 (keras_hub/src/models/llama, llama3).
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::llama {
namespace {

/// Llama and Llama 3: frequencies may be adjusted to sequences longer than in training.
class LlamaFamily final : public AttentionFamily {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) const override;
  [[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x) const override;

  Number rope_max_wavelength = 10000;
  Number rope_position_scaling_factor{1.0};  ///< KerasHub accepts the key but does not use it
  std::optional<Number> rope_frequency_adjustment_factor, rope_low_freq_factor, rope_high_freq_factor,
      rope_pretraining_sequence_length;

 private:
  [[nodiscard]] std::vector<float> frequencies(Dim size) const;
};

void LlamaFamily::fields(Fields& f) {
  f("rope_max_wavelength", rope_max_wavelength);
  f("rope_position_scaling_factor", rope_position_scaling_factor);
  f("rope_frequency_adjustment_factor", rope_frequency_adjustment_factor);
  f("rope_low_freq_factor", rope_low_freq_factor);
  f("rope_high_freq_factor", rope_high_freq_factor);
  f("rope_pretraining_sequence_length", rope_pretraining_sequence_length);
}

void LlamaFamily::check(const Ref& config) const {
  const auto expect_positive = [&](const char* key, const std::optional<Number>& value) {
    if (value && !(*value > 0.0)) config[key].fail("expected a number > 0 or null");
  };
  expect_positive("rope_max_wavelength", rope_max_wavelength);
  expect_positive("rope_frequency_adjustment_factor", rope_frequency_adjustment_factor);
  expect_positive("rope_low_freq_factor", rope_low_freq_factor);
  expect_positive("rope_high_freq_factor", rope_high_freq_factor);
  expect_positive("rope_pretraining_sequence_length", rope_pretraining_sequence_length);
  const int given = (rope_frequency_adjustment_factor ? 1 : 0) + (rope_low_freq_factor ? 1 : 0) +
                    (rope_high_freq_factor ? 1 : 0) + (rope_pretraining_sequence_length ? 1 : 0);
  if (given != 0 && given != 4)
    config.fail(
        "expected either all or none of 'rope_frequency_adjustment_factor', 'rope_low_freq_factor', "
        "'rope_high_freq_factor' and 'rope_pretraining_sequence_length'");
}

/// llama_rotary_embedding.py: wavelengths longer than pretraining/low are stretched by the factor, those shorter than
/// pretraining/high are kept, and the frequency is interpolated in between.
std::vector<float> LlamaFamily::frequencies(Dim size) const {
  check_turning(size);
  const auto base = static_cast<float>(rope_max_wavelength);
  std::vector<float> out;
  for (Dim i = 0; i < size; i += 2)
    out.push_back(1.0F / std::pow(base, static_cast<float>(i) / static_cast<float>(size)));
  if (!rope_low_freq_factor) return out;
  const auto factor = static_cast<float>(*rope_frequency_adjustment_factor);
  const auto low = static_cast<float>(*rope_low_freq_factor), high = static_cast<float>(*rope_high_freq_factor);
  const auto length = static_cast<float>(*rope_pretraining_sequence_length);
  for (float& frequency : out) {
    const float wavelength = 2.0F * std::numbers::pi_v<float> / frequency;
    const float stretched = frequency / factor;
    if (wavelength > length / low) {
      frequency = stretched;
    } else if (wavelength >= length / high) {
      const float smooth = (length / wavelength - low) / (high - low);
      frequency = (1.0F - smooth) * stretched + smooth * frequency;
    }
  }
  return out;
}

graph::ValueId LlamaFamily::turned(Call& call, graph::ValueId x) const {
  return keras::turned(call, x, {frequencies(call.builder().shape(x).back())});
}

class LlamaTransformerDecoder final : public GatedBlock {
 public:
  LlamaTransformerDecoder()
      : GatedBlock(std::make_unique<LlamaFamily>(),
                   {.attention_class = "LlamaAttention", .norm_class = "LlamaLayerNorm"}) {}
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
    // KerasHub accepts the key but does not write it, so it cannot load its own config of a tied model.
    if (f.reading() || tie_word_embeddings) f("tie_word_embeddings", tie_word_embeddings);
  }

 protected:
  void assemble() override { assemble_with(family_, tie_word_embeddings, "LlamaTransformerDecoder", "LlamaLayerNorm"); }

 private:
  LlamaFamily family_;
  bool tie_word_embeddings = false;
};

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

void sizes(ConfigMap& map) {
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

constexpr std::array kLayers = {
    ClassInfo{.name = "LlamaAttention",
              .make = make_grouped_attention<LlamaFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.llama.llama_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "LlamaTransformerDecoder",
              .make = make_layer<LlamaTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.llama.llama_decoder",
              .role = Role::transformer},
    rms_norm_record("LlamaLayerNorm", "keras_hub.src.models.llama.llama_layernorm"),
};

constexpr std::array kModels = {
    model_record<LlamaBackbone>("LlamaBackbone", "keras_hub.src.models.llama.llama_backbone"),
    model_record<LlamaBackbone>("Llama3Backbone", "keras_hub.src.models.llama3.llama3_backbone"),
    model_record<CausalLM>("Llama3CausalLM", "keras_hub.src.models.llama3.llama3_causal_lm"),
    model_record<CausalLM>("LlamaCausalLM", "keras_hub.src.models.llama.llama_causal_lm"),
};

// KerasHub reads all of these folders as Llama 3; the second row is only for writing.
constexpr std::array kHuggingFace = {
    HuggingFaceModel{"llama", "Llama3", "Llama", sizes},
    HuggingFaceModel{"llama", "Llama", "Llama", sizes},
};

constexpr std::array kWeightNames = {
    weights::NameTable{"LlamaBackbone", "model.", kLlamaNames},
    weights::NameTable{"Llama3Backbone", "model.", kLlamaNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 2> kHeaderTokens{"<|start_header_id|>", "<|end_header_id|>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "Llama3Tokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = "<|begin_of_text|>",
               .end = "<|end_of_text|>",
               .more = kHeaderTokens,
               .second_end = "<|eot_id|>",
               .words = tokenizers::kLlama3Words,
               .takes_specials = true},
    KerasClass{.name = "LlamaTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kEndToken,
               .transformers_class = "LlamaTokenizer",
               .transformers_file = "tokenizer.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "llama", .keras_class = "Llama3Tokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "llama",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders,
                                       .hides_tying = true};
  return kFamily;
}

}  // namespace attn::keras::llama
