// SigLIP (keras_hub/src/models/siglip).
//
// Letters: B batch, P patches, T tokens, D width.
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families/blocks/images/image_text.h"
#include "families/blocks/layer_record.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::siglip {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.siglip.siglip_layers";

/// (B,H,W,C) → (B,P,D): the patches, plus the position embeddings.
class SigLIPVisionEmbedding final : public PatchEmbedding {
 public:
  SigLIPVisionEmbedding() : PatchEmbedding(0) {}

  void build(Weights& w, Call&) override {
    add_positions(w, true);
    make_parts({{"kernel_initializer", "lecun_normal"}},
               {{"embeddings_initializer",
                 normal_initializer("RandomNormal", 1.0 / std::sqrt(static_cast<double>(hidden_dim)))}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    return with_positions(call, patches(call));
  }
};

/// (B,T) → (B,T,D): embeddings of the tokens, plus those of all positions.
class SigLIPTextEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("sequence_length", sequence_length);
    f.required("embedding_dim", embedding_dim);
    f("embeddings_initializer", embeddings_initializer);
    f("tie_weights", tie_weights);
    f("mask_zero", mask_zero);
  }
  [[nodiscard]] bool supports_masking() const override { return mask_zero; }
  [[nodiscard]] std::optional<std::int64_t> most_positions() const override { return sequence_length; }

  void build(Weights& w, Call&) override {
    position_ids_ = add_position_ids(w, sequence_length, true);
    const auto embedding = [&](const char* called, std::int64_t rows) {
      return &make("ReversibleEmbedding", called, called,
                   {{"input_dim", rows},
                    {"output_dim", embedding_dim.value},
                    {"tie_weights", tie_weights},
                    {"embeddings_initializer", embeddings_initializer.json},
                    {"mask_zero", mask_zero}});
    };
    tokens_ = embedding("token_embedding", vocabulary_size);
    positions_ = embedding("position_embedding", sequence_length);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr tokens = apply(call, *tokens_, {call.tensor("inputs")});
    const TensorPtr positions = apply(call, *positions_, {Call::result(call.raw_weight(position_ids_))});
    const Dim length = call.shape("inputs")[1];
    if (call.lowering().symbolic()) return tokens;
    if (length != sequence_length)
      throw bad_input("expected {} tokens, got {}; the texts of a SigLIP have one length", sequence_length.value,
                      length);
    const TensorPtr out = sum(call, tokens, positions);
    out->mask = tokens->mask;
    return out;
  }

 private:
  Positive vocabulary_size, sequence_length, embedding_dim;
  Initializer embeddings_initializer{"normal"};
  bool tie_weights = true, mask_zero = false;
  int position_ids_ = 0;
  Layer* tokens_ = nullptr;
  Layer* positions_ = nullptr;
};

/// Returns the arguments of the dense layers "mlp/fc1" and "mlp/fc2".
Json dense_arguments(std::int64_t units) {
  return {{"units", units}, {"bias_initializer", normal_initializer("RandomNormal", 1e-6)}};
}

class SigLIPEncoderLayer final : public PreNormBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("intermediate_activation", intermediate_activation);
    f("use_causal_mask", use_causal_mask);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  void check(const Ref& config) override {
    check_heads(config, "num_heads", hidden_dim, num_heads);
    check_activation(config, "intermediate_activation", intermediate_activation);
  }
  void build(Weights&, Call& call) override {
    expect_width(call, hidden_dim);
    attention_ = &make_heads("self_attn", "self_attn", num_heads, hidden_dim);
    norm_1_ = &make_norm("layer_norm1", "layer_norm1", layer_norm_epsilon);
    feed_ = {&make("Dense", "mlp/fc1", "mlp/fc1", dense_arguments(intermediate_dim)),
             &make("Dense", "mlp/fc2", "mlp/fc2", dense_arguments(hidden_dim))};
    norm_2_ = &make_norm("layer_norm2", "layer_norm2", layer_norm_epsilon);
  }

 private:
  TensorPtr attended(Call& call, const TensorPtr& x) override {
    return apply(call, *attention_, {x, x}, {{"use_causal_mask", use_causal_mask}});
  }
  TensorPtr fed(Call& call, const TensorPtr& x) override {
    const ValueId wide = apply(call, *feed_[0], {x})->id;
    return apply(call, *feed_[1], {Call::result(activated(call.builder(), intermediate_activation, wide))});
  }

  Positive hidden_dim, num_heads, intermediate_dim;
  std::string intermediate_activation = "gelu_approximate";
  bool use_causal_mask = false;
  Number layer_norm_epsilon = 1e-6;
};

/// (B,P,D) → (B,D): a trained row attends to the patches.
class SigLIPMultiHeadAttentionPooling final : public PreNormBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f.required("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  void check(const Ref& config) override {
    check_heads(config, "num_heads", hidden_dim, num_heads);
    check_activation(config, "activation", activation);
  }
  void build(Weights& w, Call& call) override {
    expect_width(call, hidden_dim);
    // KerasHub's variable has no name, so it has Keras's name for the first variable without one.
    w.add("variable", {1, 1, hidden_dim}, Initializer("glorot_uniform"));
    attention_ = &make_heads("attention", "attention", num_heads, hidden_dim);
    norm_2_ = &make_norm("layernorm", "layer_norm", layer_norm_epsilon);
    feed_ = {&make("Dense", "mlp/fc1", "mlp/fc1", dense_arguments(intermediate_dim)),
             &make("Dense", "mlp/fc2", "mlp/fc2", dense_arguments(hidden_dim))};
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr x = call.tensor("inputs");
    const Dim batch = call.shape(x)[0];
    const ValueId probes = b.apply(graph::Broadcast{{batch, 1, hidden_dim}}, {call.weight(0)});
    const TensorPtr row = apply(call, *attention_, {Call::result(probes), x});
    const ValueId wide = apply(call, *feed_[0], {apply(call, *norm_2_, {row})})->id;
    const TensorPtr fed = apply(call, *feed_[1], {Call::result(activated(b, activation, wide))});
    return Call::result(b.reshape(sum(call, row, fed)->id, {batch, hidden_dim}));
  }

 private:
  Positive hidden_dim, intermediate_dim, num_heads;
  std::string activation;
  Number layer_norm_epsilon = 1e-6;
};

/// The common part of both encoders.
class Encoder : public ImageBackbone {
 protected:
  Encoder() { sizes.intermediate_activation = "gelu_approximate"; }

  void check_fields(const Ref& config) override {
    ImageBackbone::check_fields(config);
    sizes.check(config);
  }
  /// Adds the blocks and their norm.
  TensorRef through_blocks(TensorRef x, double norm_epsilon) {
    for (std::int64_t i = 0; i < sizes.num_layers; ++i)
      x = call("SigLIPEncoderLayer", prefixed(fmt::format("encoder_block_{}", i)),
               {{"hidden_dim", sizes.hidden_dim.value},
                {"num_heads", sizes.num_heads.value},
                {"intermediate_dim", sizes.intermediate_dim.value},
                {"intermediate_activation", sizes.intermediate_activation},
                {"layer_norm_epsilon", layer_norm_epsilon.value}},
               {x});
    return call("LayerNormalization", prefixed("post_layer_norm"), {{"epsilon", norm_epsilon}}, {x});
  }

  EncoderSizes sizes;
  Number layer_norm_epsilon = 1e-6;
};

class SigLIPVisionEncoder final : public Encoder {
 public:
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    sizes.fields(f);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("image_shape", image_shape);
  }

 protected:
  void check_fields(const Ref& config) override {
    Encoder::check_fields(config);
    check_square(config);
  }
  void assemble() override {
    const TensorRef image = images("images");
    const TensorRef x = call(
        "SigLIPVisionEmbedding", prefixed("embedding"),
        {{"hidden_dim", sizes.hidden_dim.value}, {"patch_size", patch_size.value}, {"image_size", height()}}, {image});
    input_struct = ArgDict{{"images", image}};
    output_struct = call("SigLIPMultiHeadAttentionPooling", prefixed("head"),
                         {{"hidden_dim", sizes.hidden_dim.value},
                          {"intermediate_dim", sizes.intermediate_dim.value},
                          {"num_heads", sizes.num_heads.value},
                          {"activation", sizes.intermediate_activation},
                          {"layer_norm_epsilon", layer_norm_epsilon.value}},
                         {through_blocks(x, 1e-6)});
  }

 private:
  Positive patch_size;
};

class SigLIPTextEncoder final : public Encoder {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("embedding_dim", embedding_dim);
    sizes.fields(f);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("max_sequence_length", max_sequence_length);
    f("projection_dim", projection_dim);
    if (f.reading() && !projection_dim) projection_dim = sizes.hidden_dim;
  }

 protected:
  void assemble() override {
    const TensorRef ids = input("token_ids", {kUnknown, kUnknown}, DType::int32);
    const TensorRef rows = through_blocks(call("SigLIPTextEmbedding", prefixed("embedding"),
                                               {{"vocabulary_size", vocabulary_size.value},
                                                {"sequence_length", max_sequence_length.value},
                                                {"embedding_dim", embedding_dim.value}},
                                               {ids}),
                                          layer_norm_epsilon);
    const TensorRef last =
        operation("GetItem", Json::object(), {rows, ArgList{SliceArg{}, std::int64_t{-1}, SliceArg{}}});
    input_struct = ArgDict{{"token_ids", ids}};
    output_struct = call("Dense", prefixed("head"),
                         {{"units", projection_dim->value}, {"kernel_initializer", "lecun_normal"}}, {last});
  }

 private:
  Positive vocabulary_size, embedding_dim, max_sequence_length = 64;
  std::optional<Positive> projection_dim;
};

/// The settings of KerasHub's preprocessor, which has no start token.
constexpr ImageTexts kImageTexts{.texts = ImageTextBackbone::kTexts,
                                 .similarities = ImageTextBackbone::kImageLogits,
                                 .is_independent = true,
                                 .preprocessor = "SigLIPPreprocessor",
                                 .length = 64,
                                 .has_start = false,
                                 .cleaning = TextCleaning::canonical,
                                 .cleaning_key = "canonicalize_text"};

class SigLIPBackbone final : public ImageTextBackbone {
 public:
  SigLIPBackbone() : ImageTextBackbone("SigLIP", kImageTexts) {}

 protected:
  void assemble() override {
    const auto [images, texts] = encoded();
    compare("SigLIPHead", "siglip_head", images, texts);
  }
};

LayerPtr make_head() { return std::make_unique<SimilarityHead>(true, 0.0); }

constexpr std::array kLayers = {
    layer_record("SigLIPVisionEmbedding", make_layer<SigLIPVisionEmbedding>, kModule, Role::embedding,
                 "position_ids: - -"),
    layer_record("SigLIPTextEmbedding", make_layer<SigLIPTextEmbedding>, kModule, Role::embedding, "position_ids: - -"),
    layer_record("SigLIPEncoderLayer", make_layer<SigLIPEncoderLayer>, kModule, Role::transformer),
    layer_record("SigLIPMultiHeadAttentionPooling", make_layer<SigLIPMultiHeadAttentionPooling>, kModule, Role::pooling,
                 "variable: - - d_model"),
    layer_record("SigLIPHead", make_head, kModule, Role::merge),
};

constexpr std::array kModels = {
    model_record<SigLIPVisionEncoder>("SigLIPVisionEncoder", "keras_hub.src.models.siglip.siglip_vision_encoder"),
    model_record<SigLIPTextEncoder>("SigLIPTextEncoder", "keras_hub.src.models.siglip.siglip_text_encoder"),
    model_record<SigLIPBackbone>("SigLIPBackbone", "keras_hub.src.models.siglip.siglip_backbone"),
};

constexpr std::array<std::string_view, 1> kUnknownToken{"<unk>"};
constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "SigLIPTokenizer",
                           .kind = tokenizers::TokenizerKind::sentence_piece,
                           .end = kEndToken,
                           .pad = kEndToken,
                           .more = kUnknownToken},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "siglip", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::siglip
