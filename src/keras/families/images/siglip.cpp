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

/// The sizes that both encoders have, with the defaults of transformers.
void tower(ConfigMap& map, std::string_view called) {
  if (map.reading()) map.put("name", std::string(called));
  map.same("hidden_dim", "hidden_size", 768);
  map.same("num_layers", "num_hidden_layers", 12);
  map.same("num_heads", "num_attention_heads", 12);
  map.same("intermediate_dim", "intermediate_size", 3072);
  map.same("layer_norm_epsilon", "layer_norm_eps", 1e-6);
  constexpr std::string_view kHuggingFaceName = "gelu_pytorch_tanh", kKerasName = "gelu_approximate";
  const auto given = map.reading() ? map.find("hidden_act") : std::nullopt;
  if (map.reading()) {
    const bool is_approximate = !given || (given->is_string() && given->text() == kHuggingFaceName);
    map.put("intermediate_activation", is_approximate ? Json(kKerasName) : given->json(), "hidden_act");
  } else {
    const Json own = map.of_keras("intermediate_activation");
    map.put("hidden_act", own == kKerasName ? Json(kHuggingFaceName) : own);
  }
}

void vision_sizes(ConfigMap& map) {
  tower(map, "siglip_vision_encoder");
  map.same("patch_size", "patch_size", 16);
  map.square("image_shape", "image_size", 224);
  map.fixed("num_channels", {3});
}

void text_sizes(ConfigMap& map) {
  tower(map, "siglip_text_encoder");
  map.same("vocabulary_size", "vocab_size", 32000);
  map.same("max_sequence_length", "max_position_embeddings", 64);
  if (map.reading()) {
    const std::int64_t width = map.integer("hidden_size", 768);
    map.put("embedding_dim", width, "hidden_size");
    map.same("projection_dim", "projection_size", width);
  } else {
    if (map.of_keras("embedding_dim") != map.of_keras("hidden_dim"))
      throw bad_input(
          "a text encoder whose embedding_dim is not its hidden_dim cannot be written as a Hugging Face folder");
    map.same("projection_dim", "projection_size");
  }
}

void sizes(ConfigMap& map) {
  map.encoder("vision_encoder", "vision_config", "SigLIPVisionEncoder", vision_sizes);
  map.encoder("text_encoder", "text_config", "SigLIPTextEncoder", text_sizes);
}

constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "siglip",
                     .stem = "SigLIP",
                     .architecture = "Siglip",
                     .sizes = sizes,
                     .is_converted = false,
                     .heads = {}},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 62> kNames{{
    {"*text_encoder_embedding/token_embedding/embeddings", "text_model.embeddings.token_embedding.weight", kSame},
    {"*text_encoder_embedding/position_embedding/embeddings", "text_model.embeddings.position_embedding.weight", kSame},
    {"*text_encoder_embedding/position_ids", "", kCounted},
    {"*text_encoder_encoder_block_{}/layer_norm1/gamma", "text_model.encoder.layers.{}.layer_norm1.weight", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm1/beta", "text_model.encoder.layers.{}.layer_norm1.bias", kSame},
    {"*text_encoder_encoder_block_{}/self_attn/query/kernel", "text_model.encoder.layers.{}.self_attn.q_proj.weight",
     kLinear},
    {"*text_encoder_encoder_block_{}/self_attn/query/bias", "text_model.encoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"*text_encoder_encoder_block_{}/self_attn/key/kernel", "text_model.encoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
    {"*text_encoder_encoder_block_{}/self_attn/key/bias", "text_model.encoder.layers.{}.self_attn.k_proj.bias",
     kVector},
    {"*text_encoder_encoder_block_{}/self_attn/value/kernel", "text_model.encoder.layers.{}.self_attn.v_proj.weight",
     kLinear},
    {"*text_encoder_encoder_block_{}/self_attn/value/bias", "text_model.encoder.layers.{}.self_attn.v_proj.bias",
     kVector},
    {"*text_encoder_encoder_block_{}/self_attn/attention_output/kernel",
     "text_model.encoder.layers.{}.self_attn.out_proj.weight", kFromHeads},
    {"*text_encoder_encoder_block_{}/self_attn/attention_output/bias",
     "text_model.encoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm2/gamma", "text_model.encoder.layers.{}.layer_norm2.weight", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm2/beta", "text_model.encoder.layers.{}.layer_norm2.bias", kSame},
    {"*text_encoder_encoder_block_{}/mlp/fc1/kernel", "text_model.encoder.layers.{}.mlp.fc1.weight", kLinear},
    {"*text_encoder_encoder_block_{}/mlp/fc1/bias", "text_model.encoder.layers.{}.mlp.fc1.bias", kSame},
    {"*text_encoder_encoder_block_{}/mlp/fc2/kernel", "text_model.encoder.layers.{}.mlp.fc2.weight", kLinear},
    {"*text_encoder_encoder_block_{}/mlp/fc2/bias", "text_model.encoder.layers.{}.mlp.fc2.bias", kSame},
    {"*text_encoder_post_layer_norm/gamma", "text_model.final_layer_norm.weight", kSame},
    {"*text_encoder_post_layer_norm/beta", "text_model.final_layer_norm.bias", kSame},
    {"*text_encoder_head/kernel", "text_model.head.weight", kLinear},
    {"*text_encoder_head/bias", "text_model.head.bias", kSame},
    {"*vision_encoder_embedding/patch_embedding/kernel", "vision_model.embeddings.patch_embedding.weight",
     kConvolution},
    {"*vision_encoder_embedding/patch_embedding/bias", "vision_model.embeddings.patch_embedding.bias", kSame},
    {"*vision_encoder_embedding/position_embedding/embeddings", "vision_model.embeddings.position_embedding.weight",
     kSame},
    {"*vision_encoder_embedding/position_ids", "", kCounted},
    {"*vision_encoder_encoder_block_{}/layer_norm1/gamma", "vision_model.encoder.layers.{}.layer_norm1.weight", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm1/beta", "vision_model.encoder.layers.{}.layer_norm1.bias", kSame},
    {"*vision_encoder_encoder_block_{}/self_attn/query/kernel",
     "vision_model.encoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/self_attn/query/bias", "vision_model.encoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"*vision_encoder_encoder_block_{}/self_attn/key/kernel", "vision_model.encoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
    {"*vision_encoder_encoder_block_{}/self_attn/key/bias", "vision_model.encoder.layers.{}.self_attn.k_proj.bias",
     kVector},
    {"*vision_encoder_encoder_block_{}/self_attn/value/kernel",
     "vision_model.encoder.layers.{}.self_attn.v_proj.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/self_attn/value/bias", "vision_model.encoder.layers.{}.self_attn.v_proj.bias",
     kVector},
    {"*vision_encoder_encoder_block_{}/self_attn/attention_output/kernel",
     "vision_model.encoder.layers.{}.self_attn.out_proj.weight", kFromHeads},
    {"*vision_encoder_encoder_block_{}/self_attn/attention_output/bias",
     "vision_model.encoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm2/gamma", "vision_model.encoder.layers.{}.layer_norm2.weight", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm2/beta", "vision_model.encoder.layers.{}.layer_norm2.bias", kSame},
    {"*vision_encoder_encoder_block_{}/mlp/fc1/kernel", "vision_model.encoder.layers.{}.mlp.fc1.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/mlp/fc1/bias", "vision_model.encoder.layers.{}.mlp.fc1.bias", kSame},
    {"*vision_encoder_encoder_block_{}/mlp/fc2/kernel", "vision_model.encoder.layers.{}.mlp.fc2.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/mlp/fc2/bias", "vision_model.encoder.layers.{}.mlp.fc2.bias", kSame},
    {"*vision_encoder_post_layer_norm/gamma", "vision_model.post_layernorm.weight", kSame},
    {"*vision_encoder_post_layer_norm/beta", "vision_model.post_layernorm.bias", kSame},
    {"*vision_encoder_head/variable", "vision_model.head.probe", kSame},
    {"*vision_encoder_head/attention/query/kernel", "vision_model.head.attention.in_proj_weight", kLinear},
    {"*vision_encoder_head/attention/query/bias", "vision_model.head.attention.in_proj_bias", kVector},
    {"*vision_encoder_head/attention/key/kernel", "vision_model.head.attention.in_proj_weight", kLinear},
    {"*vision_encoder_head/attention/key/bias", "vision_model.head.attention.in_proj_bias", kVector},
    {"*vision_encoder_head/attention/value/kernel", "vision_model.head.attention.in_proj_weight", kLinear},
    {"*vision_encoder_head/attention/value/bias", "vision_model.head.attention.in_proj_bias", kVector},
    {"*vision_encoder_head/attention/attention_output/kernel", "vision_model.head.attention.out_proj.weight",
     kFromHeads},
    {"*vision_encoder_head/attention/attention_output/bias", "vision_model.head.attention.out_proj.bias", kSame},
    {"*vision_encoder_head/layernorm/gamma", "vision_model.head.layernorm.weight", kSame},
    {"*vision_encoder_head/layernorm/beta", "vision_model.head.layernorm.bias", kSame},
    {"*vision_encoder_head/mlp/fc1/kernel", "vision_model.head.mlp.fc1.weight", kLinear},
    {"*vision_encoder_head/mlp/fc1/bias", "vision_model.head.mlp.fc1.bias", kSame},
    {"*vision_encoder_head/mlp/fc2/kernel", "vision_model.head.mlp.fc2.weight", kLinear},
    {"*vision_encoder_head/mlp/fc2/bias", "vision_model.head.mlp.fc2.bias", kSame},
    {"siglip_head/logit_scale", "logit_scale", kInFront},
    {"siglip_head/logit_bias", "logit_bias", kInFront},
}};
constexpr std::array kWeightNames = {
    NameTable{"SigLIPBackbone", "", kNames},
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
  static constexpr ModelFamily kFamily{.name = "siglip",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::siglip
