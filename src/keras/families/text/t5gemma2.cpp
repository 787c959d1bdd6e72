// T5Gemma 2 for text: an encoder and a decoder with the parts of Gemma 3 (keras_hub/src/models/t5gemma2).
#include <array>

#include "families/blocks/t5gemma_backbone.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::t5gemma2 {
namespace {

constexpr std::array kLayers = {
    ClassInfo{.name = "T5Gemma2Attention",
              .make = make_t5gemma_attention<T5GemmaAttentionKind::second>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma2.t5gemma2_attention",
              .role = Role::attention,
              .symbols = kT5GemmaAttentionSymbols},
    ClassInfo{.name = "T5Gemma2MergedAttention",
              .make = make_t5gemma_attention<T5GemmaAttentionKind::merged>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma2.t5gemma2_attention",
              .role = Role::attention,
              .symbols = kT5GemmaAttentionSymbols},
    ClassInfo{.name = "T5Gemma2MLP",
              .make = make_t5gemma_mlp,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma2.t5gemma2_layers"},
    ClassInfo{.name = "T5Gemma2EncoderLayer",
              .make = make_t5gemma_encoder_layer<T5GemmaGeneration::second>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma2.t5gemma2_encoder",
              .role = Role::transformer},
    ClassInfo{.name = "T5Gemma2DecoderLayer",
              .make = make_t5gemma_decoder_layer<T5GemmaGeneration::second>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5gemma2.t5gemma2_decoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<T5GemmaFamilyBackbone, T5GemmaGeneration::second>("T5Gemma2Backbone",
                                                                   "keras_hub.src.models.t5gemma2.t5gemma2_backbone"),
    model_record<T5GemmaFamilySeq2SeqLM>("T5Gemma2Seq2SeqLM", "keras_hub.src.models.t5gemma2.t5gemma2_seq_2_seq_lm"),
};

using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "T5Gemma2Tokenizer",
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
      .name = "t5gemma2", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::t5gemma2
