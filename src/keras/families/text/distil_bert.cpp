// DistilBERT (keras_hub/src/models/distil_bert).
#include <array>

#include "families/blocks/encoder_backbones.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"

namespace attn::keras::distil_bert {
namespace {

class DistilBertBackbone : public UnsegmentedBackbone {
 public:
  DistilBertBackbone() : UnsegmentedBackbone("token_and_position_embedding", 1e-12) {}
};

class DistilBertTextClassifier : public PoolingClassifier {
 public:
  DistilBertTextClassifier() : PoolingClassifier(0.2) {}

 protected:
  void assemble() override {
    const TensorRef pooled =
        call("Dense", "pooled_dense",
             {{"units", hidden_dim->value}, {"activation", "relu"}, {"kernel_initializer", initializer()}},
             {first_token(backbone_result())});
    output_struct = logits(drop("output_dropout", pooled));
  }
};

constexpr std::array kModels = {
    model_record<DistilBertBackbone>("DistilBertBackbone", "keras_hub.src.models.distil_bert.distil_bert_backbone"),
    model_record<DistilBertTextClassifier>("DistilBertTextClassifier",
                                           "keras_hub.src.models.distil_bert.distil_bert_text_classifier"),
    model_record<MaskedLM, kOnlyOutput>("DistilBertMaskedLM", "keras_hub.src.models.distil_bert.distil_bert_masked_lm"),
};

using tokenizers::FolderTokenizer;
constexpr std::array kTokenizers = {
    word_piece_record("DistilBertTokenizer"),
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "distilbert", .keras_class = "DistilBertTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "distil_bert", .models = kModels, .tokenizer_classes = kTokenizers, .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::distil_bert
