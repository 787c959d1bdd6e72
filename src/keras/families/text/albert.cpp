// ALBERT (keras_hub/src/models/albert).
#include <array>
#include <string>
#include <vector>

#include "attn/base/size.h"
#include "families/blocks/bert_names.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/encoder_backbones.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"

namespace attn::keras::albert {
namespace {

/// ALBERT has factorized embeddings, and calls each of its blocks several times.
class AlbertBackbone : public SegmentedBackbone {
 public:
  AlbertBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f("num_groups", num_groups);
    f("num_inner_repetitions", num_inner_repetitions);
    f.required("embedding_dim", embedding_dim);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_sequence_length", max_sequence_length);
    f("num_segments", num_segments);
    // KerasHub's ALBERT has only the tanh-approximated gelu; Hugging Face's configs can have the exact gelu.
    if (f.reading() || activation) f("activation", activation);
  }

 protected:
  void check_fields(const Ref& config) override {
    HeadedBackbone::check_fields(config);
    if (num_layers % num_groups != 0)
      config["num_groups"].fail(
          fmt::format("{} layers cannot be divided into {} groups", num_layers.value, num_groups.value));
    const auto calls = checked_mul(num_layers, num_inner_repetitions);
    if (!calls || *calls > kMaxBlocks)
      config["num_inner_repetitions"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  }

  void assemble() override {
    TensorRef x = embedded(embedding_dim);
    x = call("Dense", "embedding_projection", {{"units", hidden_dim.value}, {"kernel_initializer", initializer()}},
             {x});
    for (std::int64_t group = 0; group < num_groups; ++group) {
      std::vector<Layer*> blocks;
      for (std::int64_t i = 0; i < num_inner_repetitions; ++i)
        blocks.push_back(&block(fmt::format("group_{}_inner_layer_{}", group, i)));
      for (std::int64_t time = 0; time < num_layers / num_groups; ++time)
        for (Layer* block : blocks) x = encoded(*block, x);
    }
    finish(x);
  }

 private:
  Positive embedding_dim, num_groups = 1, num_inner_repetitions = 1;
};

constexpr char kDropoutName[] = "output_dropout";
constexpr std::array kModels = {
    model_record<AlbertBackbone>("AlbertBackbone", "keras_hub.src.models.albert.albert_backbone"),
    model_record<PooledClassifier, kDropoutName>("AlbertTextClassifier",
                                                 "keras_hub.src.models.albert.albert_text_classifier"),
    model_record<MaskedLM, kSequenceOutput, true>("AlbertMaskedLM", "keras_hub.src.models.albert.albert_masked_lm"),
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("num_groups", "num_hidden_groups", 1);
  map.fixed("inner_group_num", {1});
  map.same("embedding_dim", "embedding_size");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.unread("dropout", "hidden_dropout_prob", 0.0);
  map.same("max_sequence_length", "max_position_embeddings", 512);
  map.unread("num_segments", "type_vocab_size", 2);
  map.fixed("layer_norm_eps", {1e-12});
  activation_beside_tanh_gelu(map, "gelu_new");
  map.fixed("position_embedding_type", {"absolute"});
}

constexpr std::array kHeads{Head{"ForSequenceClassification", "TextClassifier"}, Head{"ForMaskedLM", "MaskedLM"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{
        .model_type = "albert", .stem = "Albert", .architecture = "Albert", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameTable;
// The published models have one layer in each group.
constexpr std::array<NameRow, 27> kOwnNames{{
    {"embedding_projection/kernel", "encoder.embedding_hidden_mapping_in.weight", kLinear},
    {"embedding_projection/bias", "encoder.embedding_hidden_mapping_in.bias", kSame},
    {"group_{}_inner_layer_0/self_attention_layer/query/kernel",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.query.weight", kLinear},
    {"group_{}_inner_layer_0/self_attention_layer/query/bias",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.query.bias", kVector},
    {"group_{}_inner_layer_0/self_attention_layer/key/kernel",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.key.weight", kLinear},
    {"group_{}_inner_layer_0/self_attention_layer/key/bias",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.key.bias", kVector},
    {"group_{}_inner_layer_0/self_attention_layer/value/kernel",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.value.weight", kLinear},
    {"group_{}_inner_layer_0/self_attention_layer/value/bias",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.value.bias", kVector},
    {"group_{}_inner_layer_0/self_attention_layer/attention_output/kernel",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.dense.weight", kFromHeads},
    {"group_{}_inner_layer_0/self_attention_layer/attention_output/bias",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.dense.bias", kSame},
    {"group_{}_inner_layer_0/self_attention_layer_norm/gamma",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm.weight", kSame},
    {"group_{}_inner_layer_0/self_attention_layer_norm/beta",
     "encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm.bias", kSame},
    {"group_{}_inner_layer_0/feedforward_intermediate_dense/kernel",
     "encoder.albert_layer_groups.{}.albert_layers.0.ffn.weight", kLinear},
    {"group_{}_inner_layer_0/feedforward_intermediate_dense/bias",
     "encoder.albert_layer_groups.{}.albert_layers.0.ffn.bias", kSame},
    {"group_{}_inner_layer_0/feedforward_output_dense/kernel",
     "encoder.albert_layer_groups.{}.albert_layers.0.ffn_output.weight", kLinear},
    {"group_{}_inner_layer_0/feedforward_output_dense/bias",
     "encoder.albert_layer_groups.{}.albert_layers.0.ffn_output.bias", kSame},
    {"group_{}_inner_layer_0/feedforward_layer_norm/gamma",
     "encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm.weight", kSame},
    {"group_{}_inner_layer_0/feedforward_layer_norm/beta",
     "encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm.bias", kSame},
    {"pooled_dense/kernel", "pooler.weight", kLinear},
    {"pooled_dense/bias", "pooler.bias", kSame},
    {"logits/kernel", "classifier.weight", kLinear, true},
    {"logits/bias", "classifier.bias", kSame, true},
    {"mlm_head/intermediate_dense/kernel", "predictions.dense.weight", kLinear, true},
    {"mlm_head/intermediate_dense/bias", "predictions.dense.bias", kSame, true},
    {"mlm_head/intermediate_layer_norm/gamma", "predictions.LayerNorm.weight", kSame, true},
    {"mlm_head/intermediate_layer_norm/beta", "predictions.LayerNorm.bias", kSame, true},
    {"mlm_head/output_bias", "predictions.bias", kSame, true},
}};
constexpr auto kNames = name_rows(kBertEmbeddingNames, kOwnNames);
constexpr std::array kWeightNames = {NameTable{"AlbertBackbone", "albert.", kNames}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "AlbertTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = "[CLS]",
               .end = "[SEP]",
               .pad = kPadToken,
               .more = kMaskToken},
};

constexpr std::array kFolders = {
    FolderTokenizer{
        .model_type = "albert", .keras_class = "AlbertTokenizer", .around = FolderTokenizer::Around::start_and_end},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "albert",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::albert
