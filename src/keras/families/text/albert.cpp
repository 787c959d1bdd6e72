// ALBERT (keras_hub/src/models/albert).
#include <array>
#include <string>
#include <vector>

#include "attn/base/size.h"
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
  static constexpr ModelFamily kFamily{
      .name = "albert", .models = kModels, .tokenizer_classes = kTokenizers, .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::albert
