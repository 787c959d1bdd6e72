// RoBERTa and XLM-RoBERTa (keras_hub/src/models/roberta, xlm_roberta).
#include <array>

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
  static constexpr ModelFamily kFamily{
      .name = "roberta", .models = kModels, .tokenizer_classes = kTokenizers, .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::roberta
