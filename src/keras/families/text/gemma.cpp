// Gemma 1 and 2, which are one class in KerasHub (keras_hub/src/models/gemma).
#include <array>

#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/gemma_backbone.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::gemma {
namespace {

/// Gemma 1. Gemma 2 has in addition norms after sublayers, soft caps, and a window in every other block.
class GemmaBackbone : public GemmaFamilyBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    size_fields(f);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    block_fields(f);
  }

 protected:
  void assemble() override {
    assemble_with("GemmaDecoderBlock", "GemmaRMSNormalization", [&](std::int64_t i) -> Json {
      return {{"use_sliding_window_attention", use_sliding_window_attention && i % 2 == 0}};
    });
  }
};

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

/// Returns whether the config is of Gemma 1: Gemma 2 has a second norm.
bool is_first(const Json& config) { return !config.value("use_post_attention_norm", false); }

constexpr std::array kLayers = {
    ClassInfo{.name = "GemmaRMSNormalization",
              .make = make_gemma_norm,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma.rms_normalization",
              .role = Role::normalization,
              .shown = "RMSNormalization",
              .symbols = "scale: d_model"},
    ClassInfo{.name = "CachedGemmaAttention",
              .make = make_gemma_attention<GemmaGeneration::first>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma.gemma_attention",
              .role = Role::attention,
              .symbols = kGemmaAttentionSymbols},
    ClassInfo{.name = "GemmaDecoderBlock",
              .make = make_gemma_block<GemmaGeneration::first>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma.gemma_decoder_block",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<GemmaBackbone>("GemmaBackbone", "keras_hub.src.models.gemma.gemma_backbone"),
    model_record<CausalLM>("GemmaCausalLM", "keras_hub.src.models.gemma.gemma_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{
        .model_type = "gemma", .stem = "Gemma", .architecture = "Gemma", .sizes = gemma_sizes, .is_written = is_first},
    HuggingFaceModel{.model_type = "gemma2", .stem = "Gemma", .architecture = "Gemma2", .sizes = gemma2},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 11> kNames{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"decoder_block_{}/pre_attention_norm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"decoder_block_{}/attention/query/kernel", "layers.{}.self_attn.q_proj.weight", kByHead},
    {"decoder_block_{}/attention/key/kernel", "layers.{}.self_attn.k_proj.weight", kByHead},
    {"decoder_block_{}/attention/value/kernel", "layers.{}.self_attn.v_proj.weight", kByHead},
    {"decoder_block_{}/attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"decoder_block_{}/pre_ffw_norm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"decoder_block_{}/ffw_gating/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"decoder_block_{}/ffw_gating_2/kernel", "layers.{}.mlp.up_proj.weight", kLinear},
    {"decoder_block_{}/ffw_linear/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"final_normalization/scale", "norm.weight", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"GemmaBackbone", "model.", kGemma2Names, "/post_attention_norm/"},
    NameTable{"GemmaBackbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "GemmaTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = "<bos>",
               .end = "<eos>",
               .pad = kPadToken,
               .transformers_class = "GemmaTokenizer",
               .transformers_file = "tokenizer.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "gemma", .keras_class = "GemmaTokenizer"},
    FolderTokenizer{.model_type = "gemma2", .keras_class = "GemmaTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "gemma",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders,
                                       .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::gemma
