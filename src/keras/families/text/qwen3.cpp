// Qwen 3 (keras_hub/src/models/qwen3).
#include <array>
#include <optional>

#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/decoders/qwen_attention.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"
#include "model/tasks/text_embedder.h"

namespace attn::keras::qwen3 {
namespace {

class Qwen3TransformerDecoder final : public GatedBlock {
 public:
  Qwen3TransformerDecoder()
      : GatedBlock(std::make_unique<Qwen3Family>(),
                   {.attention_class = "Qwen3Attention", .norm_class = "Qwen3LayerNorm"}) {}
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

void sizes(ConfigMap& map) {
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

constexpr std::array kLayers = {
    ClassInfo{.name = "Qwen3Attention",
              .make = make_grouped_attention<Qwen3Family>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3.qwen3_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "Qwen3TransformerDecoder",
              .make = make_layer<Qwen3TransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3.qwen3_decoder",
              .role = Role::transformer},
    rms_norm_record<Qwen3LayerNorm>("Qwen3LayerNorm", "keras_hub.src.models.qwen3.qwen3_layernorm"),
};

constexpr std::array kModels = {
    model_record<Qwen3Backbone>("Qwen3Backbone", "keras_hub.src.models.qwen3.qwen3_backbone"),
    model_record<CausalLM>("Qwen3CausalLM", "keras_hub.src.models.qwen3.qwen3_causal_lm"),
    model_record<TextEmbedder, &kDecoderPooling>("Qwen3TextEmbedder", "keras_hub.src.models.qwen3.qwen3_text_embedder"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"qwen3", "Qwen3", "Qwen3", sizes},
};

constexpr std::array kWeightNames = {weights::NameTable{"Qwen3Backbone", "model.", kLlamaNames}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "Qwen3Tokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = "<|im_end|>",
               .pad = kTextToken,
               .words = tokenizers::kQwenWords,
               .nfc = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "qwen3", .keras_class = "Qwen3Tokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "qwen3",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::qwen3
