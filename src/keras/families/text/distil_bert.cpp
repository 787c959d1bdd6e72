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

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "n_layers");
  map.same("num_heads", "n_heads");
  map.same("hidden_dim", "dim");
  map.same("intermediate_dim", "hidden_dim");
  map.unread("dropout", "dropout", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 512);
  map.fixed("activation", {"gelu"});
}

constexpr std::array kHeads{Head{"ForSequenceClassification", "TextClassifier"}, Head{"ForMaskedLM", "MaskedLM"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "distilbert",
                     .stem = "DistilBert",
                     .architecture = "DistilBert",
                     .sizes = sizes,
                     .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 29> kNames{{
    {"token_and_position_embedding/token_embedding/embeddings", "embeddings.word_embeddings.weight", kSame},
    {"token_and_position_embedding/position_embedding/embeddings", "embeddings.position_embeddings.weight", kSame},
    {"embeddings_layer_norm/gamma", "embeddings.LayerNorm.weight", kSame},
    {"embeddings_layer_norm/beta", "embeddings.LayerNorm.bias", kSame},
    {"transformer_layer_{}/self_attention_layer/query/kernel", "transformer.layer.{}.attention.q_lin.weight", kLinear},
    {"transformer_layer_{}/self_attention_layer/query/bias", "transformer.layer.{}.attention.q_lin.bias", kVector},
    {"transformer_layer_{}/self_attention_layer/key/kernel", "transformer.layer.{}.attention.k_lin.weight", kLinear},
    {"transformer_layer_{}/self_attention_layer/key/bias", "transformer.layer.{}.attention.k_lin.bias", kVector},
    {"transformer_layer_{}/self_attention_layer/value/kernel", "transformer.layer.{}.attention.v_lin.weight", kLinear},
    {"transformer_layer_{}/self_attention_layer/value/bias", "transformer.layer.{}.attention.v_lin.bias", kVector},
    {"transformer_layer_{}/self_attention_layer/attention_output/kernel",
     "transformer.layer.{}.attention.out_lin.weight", kFromHeads},
    {"transformer_layer_{}/self_attention_layer/attention_output/bias", "transformer.layer.{}.attention.out_lin.bias",
     kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "transformer.layer.{}.sa_layer_norm.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "transformer.layer.{}.sa_layer_norm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "transformer.layer.{}.ffn.lin1.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "transformer.layer.{}.ffn.lin1.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "transformer.layer.{}.ffn.lin2.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "transformer.layer.{}.ffn.lin2.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "transformer.layer.{}.output_layer_norm.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "transformer.layer.{}.output_layer_norm.bias", kSame},
    {"pooled_dense/kernel", "pre_classifier.weight", kLinear, true},
    {"pooled_dense/bias", "pre_classifier.bias", kSame, true},
    {"logits/kernel", "classifier.weight", kLinear, true},
    {"logits/bias", "classifier.bias", kSame, true},
    {"mlm_head/intermediate_dense/kernel", "vocab_transform.weight", kLinear, true},
    {"mlm_head/intermediate_dense/bias", "vocab_transform.bias", kSame, true},
    {"mlm_head/intermediate_layer_norm/gamma", "vocab_layer_norm.weight", kSame, true},
    {"mlm_head/intermediate_layer_norm/beta", "vocab_layer_norm.bias", kSame, true},
    {"mlm_head/output_bias", "vocab_projector.bias", kSame, true},
}};
constexpr std::array kWeightNames = {NameTable{"DistilBertBackbone", "distilbert.", kNames}};

using tokenizers::FolderTokenizer;
constexpr std::array kTokenizers = {
    word_piece_record("DistilBertTokenizer"),
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "distilbert", .keras_class = "DistilBertTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "distil_bert",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::distil_bert
