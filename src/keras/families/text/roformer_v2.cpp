// RoFormer V2 (keras_hub/src/models/roformer_v2).
#include <array>
#include <cstdint>

#include "classes/layers/keras_hub/masked_head.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/roformer_blocks.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"

namespace attn::keras::roformer_v2 {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.backend.epsilon()

/// Normalizes the result of each sublayer after the residual sum.
class RoformerV2Encoder final : public RoformerBlock {
 public:
  RoformerV2Encoder() : RoformerBlock("relu") {}
  void build(Weights&, Call& call) override {
    make_parts(call,
               {"RoformerAttention", Json::object(), "RoformerNorm", {{"epsilon", kEpsilon}}, "feedforward_norm"});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    TensorPtr x = call.tensor("x");
    x = apply(call, *attention_norm_, {sum(call, x, dropped_out(call, attended(call, x)))});
    return apply(call, *feedforward_norm_, {sum(call, x, dropped_out(call, fed_forward(call, x)))});
  }
};

/// A head whose kernel is the transposed token embedding.
class RoformerV2MaskedLMHead final : public MaskedHead {
 public:
  void fields(Fields& f) override {
    embedding_field(f);
    f("vocabulary_size", vocabulary_size);
    f("activation", activation);
  }
  void check(const Ref& config) override {
    if (!token_embedding) config.fail("'token_embedding' is needed");
    check_embedding(config);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr logits = reversed(call, masked(call));
    return Call::result(b.cast(activation.apply(b, logits->id), DType::float32));
  }

 private:
  Activation activation;
};

class RoformerV2Backbone : public TextBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("num_segments", num_segments);
    f("max_wavelength", max_wavelength);
    f.required("head_size", head_size);
    f("use_bias", use_bias);
    f("activation", activation);
  }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (hidden_dim % num_heads != 0 || hidden_dim / num_heads != head_size)
      config["head_size"].fail(fmt::format("{} heads of {} features are not the {} of hidden_dim", num_heads.value,
                                           head_size.value, hidden_dim.value));
  }
  void assemble() override {
    const Json initializer = normal_initializer("TruncatedNormal", 0.02);
    const TensorRef token_ids = tokens("token_ids"), segment_ids = tokens("segment_ids");
    const TensorRef attention_mask = operation("NotEqual", Json::object(), {token_ids, std::int64_t{0}});
    const TensorRef rows = call(token_embedding({{"embeddings_initializer", initializer}}), {token_ids});
    const TensorRef segments = call(
        "Embedding", "segment_embedding",
        {{"input_dim", num_segments.value}, {"output_dim", hidden_dim.value}, {"embeddings_initializer", initializer}},
        {segment_ids});
    TensorRef x = call("Add", "embeddings_add", Json::object(), {Arg(ArgList{rows, segments})});
    x = dropped_out("embeddings_dropout", call("RoformerNorm", "embeddings_layer_norm", {{"epsilon", kEpsilon}}, {x}));
    const Json block = {{"heads", num_heads.value},
                        {"head_size", head_size.value},
                        {"intermediate_size", intermediate_dim.value},
                        {"use_bias", use_bias},
                        {"max_wavelength", max_wavelength.value},
                        {"dropout", dropout.value},
                        {"activation", activation.json},
                        {"kernel_initializer", initializer}};
    set_inputs({token_ids, segment_ids});
    output_struct = through_blocks(x, "RoformerV2Encoder", "transformer_layer", [&](auto) { return block; },
                                   {{"attention_mask", attention_mask}});
  }

 private:
  Positive num_heads, num_segments = 2, head_size;
  Number max_wavelength = 10000;
  bool use_bias = false;
  Activation activation = *Activation::named("relu");
};

class RoformerV2MaskedLM final : public MaskedLM {
 public:
  RoformerV2MaskedLM() : MaskedLM(kOnlyOutput) {}

 protected:
  [[nodiscard]] LogitsLayer logits_layer() override { return {"RoformerV2MaskedLMHead", Json::object()}; }
};

constexpr std::string_view kAttentionModule = "keras_hub.src.models.roformer_v2.roformer_v2_attention";
constexpr std::array kLayers = {
    rms_norm_record("RoformerNorm", kAttentionModule),
    ClassInfo{.name = "RoformerAttention",
              .make = make_layer<RoformerAttention>,
              .since = kAnyKeras,
              .module = kAttentionModule,
              .role = Role::attention,
              .package = "keras_hub"},
    ClassInfo{.name = "RoformerV2Encoder",
              .make = make_layer<RoformerV2Encoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.roformer_v2.roformer_v2_encoder",
              .role = Role::transformer,
              .package = "keras_hub"},
    ClassInfo{.name = "RoformerV2MaskedLMHead",
              .make = make_layer<RoformerV2MaskedLMHead>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.roformer_v2.roformer_v2_masked_lm"},
};

constexpr std::array kModels = {
    model_record<RoformerV2Backbone>("RoformerV2Backbone", "keras_hub.src.models.roformer_v2.roformer_v2_backbone"),
    model_record<DroppingClassifier>("RoformerV2TextClassifier",
                                     "keras_hub.src.models.roformer_v2.roformer_v2_text_classifier"),
    model_record<RoformerV2MaskedLM>("RoformerV2MaskedLM", "keras_hub.src.models.roformer_v2.roformer_v2_masked_lm"),
};

constexpr std::array kTokenizers = {word_piece_record("RoformerV2Tokenizer")};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "roformer_v2", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::roformer_v2
