// T5Gemma: an encoder and a decoder with the parts of Gemma 2 (keras_hub/src/models/t5gemma).
#include <array>

#include "families/blocks/t5gemma_backbone.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::t5gemma {
namespace {

constexpr std::array kLayers = {
    ClassInfo{.name = "T5GemmaAttention",
              .make = make_t5gemma_attention<T5GemmaAttentionKind::first>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma.t5gemma_attention",
              .role = Role::attention,
              .symbols = kT5GemmaAttentionSymbols},
    ClassInfo{.name = "T5GemmaMLP",
              .make = make_t5gemma_mlp,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma.t5gemma_layers"},
    ClassInfo{.name = "T5GemmaEncoderLayer",
              .make = make_t5gemma_encoder_layer<T5GemmaGeneration::first>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma.t5gemma_encoder",
              .role = Role::transformer},
    ClassInfo{.name = "T5GemmaDecoderLayer",
              .make = make_t5gemma_decoder_layer<T5GemmaGeneration::first>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma.t5gemma_decoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<T5GemmaFamilyBackbone, T5GemmaGeneration::first>("T5GemmaBackbone",
                                                                  "keras_hub.src.models.t5gemma.t5gemma_backbone"),
    model_record<T5GemmaFamilySeq2SeqLM>("T5GemmaSeq2SeqLM", "keras_hub.src.models.t5gemma.t5gemma_seq_2_seq_lm"),
};

using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "T5GemmaTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = "<bos>",
               .end = "<eos>",
               .pad = kPadToken,
               .transformers_class = "GemmaTokenizer",
               .transformers_file = "tokenizer.model"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "t5gemma", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::t5gemma
