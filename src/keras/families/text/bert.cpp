// BERT (keras_hub/src/models/bert).
#include <array>

#include "families/blocks/bert_names.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/encoder_backbones.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"
#include "model/tasks/text_embedder.h"

namespace attn::keras::bert {
namespace {

class BertBackbone : public SegmentedBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_sequence_length", max_sequence_length);
    f("num_segments", num_segments);
    // KerasHub's BERT has only the tanh-approximated gelu; Hugging Face's has the exact gelu.
    if (f.reading() || activation) f("activation", activation);
  }

 protected:
  void assemble() override {
    TensorRef x = embedded(hidden_dim);
    for (std::int64_t i = 0; i < num_layers; ++i) x = encoded(block(fmt::format("transformer_layer_{}", i)), x);
    finish(x);
  }
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.unread("dropout", "hidden_dropout_prob", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 512);
  map.unread("num_segments", "type_vocab_size", 2);
  map.fixed("layer_norm_eps", {1e-12});
  activation_beside_tanh_gelu(map, "gelu", true);
  map.fixed("position_embedding_type", {"absolute"});
}

constexpr char kDropoutName[] = "classifier_dropout";
constexpr std::array kModels = {
    model_record<BertBackbone>("BertBackbone", "keras_hub.src.models.bert.bert_backbone"),
    model_record<PooledClassifier, kDropoutName>("BertTextClassifier",
                                                 "keras_hub.src.models.bert.bert_text_classifier"),
    model_record<MaskedLM, kSequenceOutput>("BertMaskedLM", "keras_hub.src.models.bert.bert_masked_lm"),
    model_record<TextEmbedder, &kBertPooling>("BertTextEmbedder", "keras_hub.src.models.bert.bert_text_embedder"),
};

constexpr std::array kHeads{Head{"ForSequenceClassification", "TextClassifier"}, Head{"ForMaskedLM", "MaskedLM"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "bert", .stem = "Bert", .architecture = "Bert", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameTable;
constexpr std::array<NameRow, 9> kHeadNames{{
    {"pooled_dense/kernel", "pooler.dense.weight", kLinear},
    {"pooled_dense/bias", "pooler.dense.bias", kSame},
    {"logits/kernel", "classifier.weight", kLinear, true},
    {"logits/bias", "classifier.bias", kSame, true},
    {"mlm_head/intermediate_dense/kernel", "cls.predictions.transform.dense.weight", kLinear, true},
    {"mlm_head/intermediate_dense/bias", "cls.predictions.transform.dense.bias", kSame, true},
    {"mlm_head/intermediate_layer_norm/gamma", "cls.predictions.transform.LayerNorm.weight", kSame, true},
    {"mlm_head/intermediate_layer_norm/beta", "cls.predictions.transform.LayerNorm.bias", kSame, true},
    {"mlm_head/output_bias", "cls.predictions.bias", kSame, true},
}};
constexpr auto kNames = name_rows(kBertEmbeddingNames, kBertBlockNames, kHeadNames);
constexpr std::array kWeightNames = {
    NameTable{"BertBackbone", "bert.", kNames},
};

using tokenizers::FolderTokenizer;
constexpr std::array kTokenizers = {
    word_piece_record("BertTokenizer"),
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "bert", .keras_class = "BertTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "bert",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::bert
