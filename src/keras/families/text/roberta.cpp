// RoBERTa and XLM-RoBERTa (keras_hub/src/models/roberta, xlm_roberta).
#include <array>

#include "families/blocks/bert_names.h"
#include "families/blocks/encoder_backbones.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"
#include "model/tasks/text_embedder.h"

namespace attn::keras::roberta {
namespace {

class RobertaBackbone : public UnsegmentedBackbone {
 public:
  RobertaBackbone() : UnsegmentedBackbone("embeddings", 1e-5) {}
};

constexpr std::array kModels = {
    model_record<RobertaBackbone>("RobertaBackbone", "keras_hub.src.models.roberta.roberta_backbone"),
    model_record<RobertaBackbone>("XLMRobertaBackbone", "keras_hub.src.models.xlm_roberta.xlm_roberta_backbone"),
    model_record<DroppingClassifier>("RobertaTextClassifier", "keras_hub.src.models.roberta.roberta_text_classifier"),
    model_record<DroppingClassifier>("XLMRobertaTextClassifier",
                                     "keras_hub.src.models.xlm_roberta.xlm_roberta_text_classifier"),
    model_record<MaskedLM, kOnlyOutput>("RobertaMaskedLM", "keras_hub.src.models.roberta.roberta_masked_lm"),
    model_record<MaskedLM, kOnlyOutput>("XLMRobertaMaskedLM", "keras_hub.src.models.xlm_roberta.xlm_roberta_masked_lm"),
    model_record<TextEmbedder, &kRobertaPooling>("XLMRobertaTextEmbedder",
                                                 "keras_hub.src.models.xlm_roberta.xlm_roberta_text_embedder"),
};

/// In transformers the position of the first token is 2.
constexpr std::int64_t kFirstPosition = 2;

void sizes(ConfigMap& map) {
  constexpr const char *kLength = "max_sequence_length", *kPositions = "max_position_embeddings";
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.unread("dropout", "hidden_dropout_prob", 0.1);
  if (map.reading()) {
    const std::int64_t positions = map.integer(kPositions, 512);
    if (positions <= kFirstPosition)
      map.unsupported(*map.find(kPositions),
                      fmt::format("a table of {} positions, the first of which is {}", positions, kFirstPosition));
    map.put(kLength, positions - kFirstPosition, kPositions);
  } else {
    map.put(kPositions, map.of_keras(kLength).get<std::int64_t>() + kFirstPosition);
    map.put("type_vocab_size", 1);
    map.put("pad_token_id", 1);  // transformers counts positions from the id after it
  }
  map.fixed("layer_norm_eps", {1e-5, 1e-12});
  map.fixed("hidden_act", {"gelu"});
  map.fixed("position_embedding_type", {"absolute"});
}

constexpr std::array kHeads{Head{"ForSequenceClassification", "TextClassifier"}, Head{"ForMaskedLM", "MaskedLM"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "roberta",
                     .stem = "Roberta",
                     .architecture = "Roberta",
                     .sizes = sizes,
                     .is_converted = false,
                     .heads = kHeads},
    HuggingFaceModel{.model_type = "xlm-roberta",
                     .stem = "XLMRoberta",
                     .architecture = "XLMRoberta",
                     .sizes = sizes,
                     .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameTable;
constexpr std::array<NameRow, 4> kEmbeddingNames{{
    {"embeddings/token_embedding/embeddings", "embeddings.word_embeddings.weight", kSame},
    {.keras = "embeddings/position_embedding/embeddings",
     .hugging_face = "embeddings.position_embeddings.weight",
     .layout = kSame,
     .skipped = kFirstPosition,
     .added = "embeddings.token_type_embeddings.weight"},
    {"embeddings_layer_norm/gamma", "embeddings.LayerNorm.weight", kSame},
    {"embeddings_layer_norm/beta", "embeddings.LayerNorm.bias", kSame},
}};
constexpr std::array<NameRow, 9> kHeadNames{{
    {"pooled_dense/kernel", "classifier.dense.weight", kLinear, true},
    {"pooled_dense/bias", "classifier.dense.bias", kSame, true},
    {"logits/kernel", "classifier.out_proj.weight", kLinear, true},
    {"logits/bias", "classifier.out_proj.bias", kSame, true},
    {"mlm_head/intermediate_dense/kernel", "lm_head.dense.weight", kLinear, true},
    {"mlm_head/intermediate_dense/bias", "lm_head.dense.bias", kSame, true},
    {"mlm_head/intermediate_layer_norm/gamma", "lm_head.layer_norm.weight", kSame, true},
    {"mlm_head/intermediate_layer_norm/beta", "lm_head.layer_norm.bias", kSame, true},
    {"mlm_head/output_bias", "lm_head.bias", kSame, true},
}};
constexpr auto kNames = name_rows(kEmbeddingNames, kBertBlockNames, kHeadNames);
constexpr std::array kWeightNames = {
    NameTable{"RobertaBackbone", "roberta.", kNames},
    NameTable{"XLMRobertaBackbone", "roberta.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::Numbering;
using tokenizers::TokenizerKind;

constexpr std::array<std::string_view, 1> kMask{"<mask>"}, kUnknownToken{"<unk>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "RobertaTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kStartToken,
               .end = kEndToken,
               .pad = kPadToken,
               .more = kMask,
               .words = tokenizers::kGpt2Words},
    KerasClass{.name = "XLMRobertaTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kEndToken,
               .pad = kPadToken,
               .more = kUnknownToken,
               .numbering = Numbering::fairseq},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "roberta",
                    .keras_class = "RobertaTokenizer",
                    .vocabulary = FolderTokenizer::Vocabulary::vocab_json,
                    .around = FolderTokenizer::Around::start_and_end},
    FolderTokenizer{.model_type = "xlm-roberta", .keras_class = "XLMRobertaTokenizer", .numbering = Numbering::fairseq},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "roberta",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::roberta
