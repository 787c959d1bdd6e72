// F-Net (keras_hub/src/models/f_net).
#include <array>
#include <cstdint>

#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"

namespace attn::keras::f_net {
namespace {

Json initializer_of_family() { return normal_initializer("RandomNormal", 0.02); }

/// A BERT with Fourier transforms instead of attention. It has no padding mask.
class FNetBackbone : public TextBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_sequence_length", max_sequence_length);
    f("num_segments", num_segments);
  }

 protected:
  void assemble() override {
    const Json initializer = initializer_of_family();
    const TensorRef token_ids = tokens("token_ids"), segment_ids = tokens("segment_ids");
    const TensorRef rows = call(token_embedding({{"embeddings_initializer", initializer}}), {token_ids});
    const TensorRef positions =
        call("PositionEmbedding", "position_embedding",
             {{"sequence_length", max_sequence_length.value}, {"initializer", initializer}}, {rows});
    const TensorRef segments = call(
        "Embedding", "segment_embedding",
        {{"input_dim", num_segments.value}, {"output_dim", hidden_dim.value}, {"embeddings_initializer", initializer}},
        {segment_ids});
    TensorRef x = call("Add", "embeddings_add", Json::object(), {Arg(ArgList{rows, positions, segments})});
    x = dense("embedding_projection", "linear", layer_norm("embeddings_layer_norm", x, 1e-12));
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"activation", gelu_approximate()},
                        {"dropout", dropout.value},
                        {"layer_norm_epsilon", 1e-12},
                        {"kernel_initializer", initializer},
                        {"bias_initializer", initializer}};
    x = through_blocks(dropped_out("embeddings_dropout", x), "FNetEncoder", "f_net_layer", [&](auto) { return block; },
                       {});
    set_inputs({token_ids, segment_ids});
    output_struct = ArgDict{{"sequence_output", x}, {"pooled_output", dense("pooled_dense", "tanh", first_token(x))}};
  }

 private:
  TensorRef dense(const char* called, const char* activation, const TensorRef& x) {
    return call("Dense", called,
                {{"units", hidden_dim.value},
                 {"activation", activation},
                 {"kernel_initializer", initializer_of_family()},
                 {"bias_initializer", initializer_of_family()}},
                {x});
  }

  Positive max_sequence_length = 512, num_segments = 4;
};

class FNetTextClassifier final : public PooledClassifier {
 public:
  FNetTextClassifier() : PooledClassifier("output_dropout") {}
  void fields(Fields& f) override {
    f.required("num_classes", num_classes);
    f("dropout", dropout);
    f("activation", activation);
  }

 protected:
  [[nodiscard]] Json initializer() const override { return initializer_of_family(); }
};

class FNetMaskedLM final : public MaskedLM {
 public:
  FNetMaskedLM() : MaskedLM(kSequenceOutput) {}

 protected:
  [[nodiscard]] LogitsLayer logits_layer() override {
    LogitsLayer out = MaskedLM::logits_layer();
    out.arguments["kernel_initializer"] = initializer_of_family();
    return out;
  }
};

constexpr std::array kModels = {
    model_record<FNetBackbone>("FNetBackbone", "keras_hub.src.models.f_net.f_net_backbone"),
    model_record<FNetTextClassifier>("FNetTextClassifier", "keras_hub.src.models.f_net.f_net_text_classifier"),
    model_record<FNetMaskedLM>("FNetMaskedLM", "keras_hub.src.models.f_net.f_net_masked_lm"),
};

using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "FNetTokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = "[CLS]",
               .end = "[SEP]",
               .pad = kPadToken,
               .more = kMaskToken},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "f_net", .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::f_net
