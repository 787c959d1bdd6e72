// Qwen 2 and 2.5 (keras_hub/src/models/qwen).
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

namespace attn::keras::qwen {
namespace {

class QwenTransformerDecoder final : public GatedBlock {
 public:
  QwenTransformerDecoder()
      : GatedBlock(std::make_unique<QwenFamily>(),
                   {.attention_class = "QwenAttention", .norm_class = "QwenLayerNorm"}) {}
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

void sizes(ConfigMap& map) {
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
  window_size(map);
  even_heads(map);
  map.fixed("hidden_act", {"silu"});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "QwenAttention",
              .make = make_grouped_attention<QwenFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen.qwen_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "QwenTransformerDecoder",
              .make = make_layer<QwenTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen.qwen_decoder",
              .role = Role::transformer},
    rms_norm_record("QwenLayerNorm", "keras_hub.src.models.qwen.qwen_layernorm"),
};

constexpr std::array kModels = {
    model_record<QwenBackbone>("QwenBackbone", "keras_hub.src.models.qwen.qwen_backbone"),
    model_record<CausalLM>("QwenCausalLM", "keras_hub.src.models.qwen.qwen_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"qwen2", "Qwen", "Qwen2", sizes},
};

constexpr std::array kWeightNames = {weights::NameTable{"QwenBackbone", "model.", kLlamaNames}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "QwenTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = kTextToken,
               .words = tokenizers::kQwenWords,
               .nfc = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "qwen2", .keras_class = "QwenTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "qwen",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::qwen
