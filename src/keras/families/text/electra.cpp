// ELECTRA (keras_hub/src/models/electra).
#include <array>

#include "families/blocks/bert_names.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/encoder_backbones.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::electra {
namespace {

/// BERT with narrower embeddings, which are projected if their width is another than the model's.
class ElectraBackbone : public SegmentedBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocab_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("embedding_dim", embedding_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_sequence_length", max_sequence_length);
    f("num_segments", num_segments);
    // KerasHub's ELECTRA has only the tanh-approximated gelu; Hugging Face's has the exact gelu.
    if (f.reading() || activation) f("activation", activation);
  }

 protected:
  void assemble() override {
    TensorRef x = embedded(embedding_dim);
    if (embedding_dim != hidden_dim)
      x = call("Dense", "embeddings_projection", {{"units", hidden_dim.value}, {"kernel_initializer", initializer()}},
               {x});
    for (std::int64_t i = 0; i < num_layers; ++i) x = encoded(block(fmt::format("transformer_layer_{}", i)), x);
    finish(x);
  }

 private:
  Positive embedding_dim;
};

constexpr std::array kModels = {
    model_record<ElectraBackbone>("ElectraBackbone", "keras_hub.src.models.electra.electra_backbone"),
};

void sizes(ConfigMap& map) {
  map.same("vocab_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("embedding_dim", "embedding_size");
  map.same("intermediate_dim", "intermediate_size");
  map.unread("dropout", "hidden_dropout_prob", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 512);
  map.unread("num_segments", "type_vocab_size", 2);
  map.fixed("layer_norm_eps", {1e-12});
  activation_beside_tanh_gelu(map);
  map.fixed("position_embedding_type", {"absolute"});
}

constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "electra",
                     .stem = "Electra",
                     .architecture = "Electra",
                     .sizes = sizes,
                     .is_converted = false,
                     .heads = {}},
};

using namespace weights::layouts;
using weights::NameTable;
// transformers has no dense layer for the first token in this model, so that one keeps its initial values.
constexpr std::array<NameRow, 4> kOwnNames{{
    {"embeddings_projection/kernel", "embeddings_project.weight", kLinear},
    {"embeddings_projection/bias", "embeddings_project.bias", kSame},
    {"pooled_dense/kernel", "", kSame},
    {"pooled_dense/bias", "", kSame},
}};
constexpr auto kNames = name_rows(kBertEmbeddingNames, kBertBlockNames, kOwnNames);
constexpr std::array kWeightNames = {NameTable{"ElectraBackbone", "electra.", kNames}};

constexpr std::array kFolders = {
    tokenizers::FolderTokenizer{.model_type = "electra", .keras_class = "ElectraTokenizer", .is_converted = false},
};

constexpr std::array kTokenizers = {word_piece_record("ElectraTokenizer")};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "electra",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::electra
