// ELECTRA (keras_hub/src/models/electra).
#include <array>

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

constexpr std::array kTokenizers = {word_piece_record("ElectraTokenizer")};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "electra", .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::electra
