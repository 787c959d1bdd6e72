// CLIP and MetaCLIP 2 (keras_hub/src/models/clip and metaclip_2).
//
// Letters: B batch, P patches and the class token, T tokens, D width.
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

namespace attn::keras::clip {
namespace {

using graph::Builder;
using graph::ValueId;

/// The differences between the two.
struct Kind {
  std::string_view stem;    ///< the prefix of class names
  std::string_view head;    ///< the name of the head
  bool declares_positions;  ///< whether files have the numbers of positions
  double text_epsilon;      ///< of the norm after the blocks of the text encoder
  bool pools_before_norm;   ///< whether the norm after the blocks of the vision encoder follows the pooling
  ImageTexts image_texts;
};
/// Returns the settings of KerasHub's preprocessor.
constexpr ImageTexts image_texts_of(std::string_view preprocessor) {
  return {.texts = ImageTextBackbone::kTexts,
          .similarities = ImageTextBackbone::kImageLogits,
          .is_independent = false,
          .preprocessor = preprocessor,
          .length = 77,
          .has_start = true,
          .cleaning = TextCleaning::lower,
          .cleaning_key = "to_lower"};
}
constexpr Kind kClip{"CLIP", "clip_head", true, 1e-6, false, image_texts_of("CLIPPreprocessor")};
constexpr Kind kMetaClip2{
    "MetaCLIP2", "metaclip_2_head", false, 1e-5, true, image_texts_of("MetaCLIP2CausalLMPreprocessor")};
constexpr double kEpsilon = 1e-5;

std::string class_of(const Kind& kind, std::string_view part) { return std::string(kind.stem) + std::string(part); }

/// (B,H,W,C) → (B,P,D): the class token and the patches, plus the position embeddings.
class VisionEmbedding final : public PatchEmbedding {
 public:
  explicit VisionEmbedding(const Kind* kind) : PatchEmbedding(1), kind_(*kind) {}

  void build(Weights& w, Call&) override {
    w.add("class_embedding", {hidden_dim}, Initializer("random_normal"));
    // In CLIP all positions are 0 until a file is read.
    if (kind_.declares_positions) add_positions(w, false);
    make_parts({{"use_bias", false}}, Json::object());
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId token = b.reshape(call.weight(0), {1, 1, hidden_dim});
    return with_positions(call, behind_rows(b, token, patches(call)));
  }

 private:
  const Kind& kind_;
};

class EncoderLayer final : public PreNormBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("intermediate_activation", intermediate_activation);
    f("use_causal_mask", use_causal_mask);
  }
  void check(const Ref& config) override {
    check_heads(config, "num_heads", hidden_dim, num_heads);
    check_activation(config, "intermediate_activation", intermediate_activation);
  }
  void build(Weights&, Call& call) override {
    expect_width(call, hidden_dim);
    norm_1_ = &make_norm("layer_norm_1", "layer_norm_1", kEpsilon);
    attention_ = &make_heads("attention", "attention", num_heads, hidden_dim);
    norm_2_ = &make_norm("layer_norm_2", "layer_norm_2", kEpsilon);
    feed_ = {&make("Dense", "dense_1", "dense_1", {{"units", intermediate_dim.value}}),
             &make("Dense", "dense_2", "dense_2", {{"units", hidden_dim.value}})};
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
  std::string intermediate_activation = "quick_gelu";
  bool use_causal_mask = true;
};

/// The first row.
class VisionPooler final : public Layer {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId row = rows_between(b, call.tensor("inputs")->id, 0, 1);
    return Call::result(b.reshape(row, {b.shape(row)[0], b.shape(row)[2]}));
  }
};

/// The row of the token that ends a text: in CLIP the one with the largest number.
class TextPooler final : public Layer {
 public:
  explicit TextPooler(const Kind* kind) : kind_(*kind) {}
  void fields(Fields& f) override {
    if (&kind_ == &kMetaClip2) f("eos_token_id", eos_token_id);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"text_embeddings", "token_ids"};
    return kNames;
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("text_embeddings")->id;
    const Shape shape = b.shape(x);
    if (call.lowering().symbolic()) return Call::result(b.apply(graph::Fill{{shape[0], shape[2]}, b.dtype(x)}, {}));
    ValueId ids = call.tensor("token_ids")->id;
    if (&kind_ == &kMetaClip2)
      ids = b.cast(b.binary(graph::BinaryFn::equal, ids, b.scalar_like(ids, static_cast<double>(eos_token_id))),
                   DType::int32);
    const ValueId last = b.apply(graph::Reduce{graph::ReduceFn::argmax, {1}}, {ids});
    const ValueId starts = b.apply(graph::Iota{{shape[0]}, DType::int32, 0, 0.0, static_cast<double>(shape[1])}, {});
    const ValueId rows = b.reshape(x, {shape[0] * shape[1], shape[2]});
    return Call::result(b.apply(graph::Gather{0}, {rows, b.binary(graph::BinaryFn::add, starts, last)}));
  }

 private:
  const Kind& kind_;
  std::int64_t eos_token_id = 2;
};

/// The common part of both encoders. With an index, the rows after that block are a second result.
class Encoder : public ImageBackbone {
 protected:
  explicit Encoder(const Kind* kind) : kind_(*kind) { sizes.intermediate_activation = "quick_gelu"; }

  void check_fields(const Ref& config) override {
    ImageBackbone::check_fields(config);
    sizes.check(config);
    if (!intermediate_output_index) return;
    if (*intermediate_output_index < 0) *intermediate_output_index += sizes.num_layers;
    if (*intermediate_output_index < 0 || *intermediate_output_index >= sizes.num_layers)
      config["intermediate_output_index"].fail(fmt::format("there are {} blocks", sizes.num_layers.value));
  }
  /// Adds the blocks and their norm, and sets the results.
  void finish(TensorRef x, bool causal, std::optional<double> norm_epsilon) {
    TensorRef intermediate;
    for (std::int64_t i = 0; i < sizes.num_layers; ++i) {
      x = call(class_of(kind_, "EncoderLayer"), prefixed(fmt::format("encoder_block_{}", i)),
               {{"hidden_dim", sizes.hidden_dim.value},
                {"num_heads", sizes.num_heads.value},
                {"intermediate_dim", sizes.intermediate_dim.value},
                {"intermediate_activation", sizes.intermediate_activation},
                {"use_causal_mask", causal}},
               {x});
      if (i == intermediate_output_index) intermediate = x;
    }
    if (norm_epsilon) x = norm("layer_norm", *norm_epsilon, x);
    output_struct = x;
    if (intermediate_output_index)
      output_struct = ArgDict{{"sequence_output", x}, {"intermediate_output", intermediate}};
  }
  TensorRef norm(std::string_view called, double epsilon, const TensorRef& x) {
    return call("LayerNormalization", prefixed(called), {{"epsilon", epsilon}}, {x});
  }

  const Kind& kind_;
  EncoderSizes sizes;
  std::optional<std::int64_t> intermediate_output_index;
};

class VisionEncoder final : public Encoder {
 public:
  explicit VisionEncoder(const Kind* kind) : Encoder(kind) {}
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    sizes.fields(f);
    f("intermediate_output_index", intermediate_output_index);
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
        class_of(kind_, "VisionEmbedding"), prefixed("embedding"),
        {{"hidden_dim", sizes.hidden_dim.value}, {"patch_size", patch_size.value}, {"image_size", height()}}, {image});
    input_struct = ArgDict{{"images", image}};
    finish(norm("pre_layer_norm", kEpsilon, x), false,
           kind_.pools_before_norm ? std::nullopt : std::optional(kEpsilon));
  }

 private:
  Positive patch_size;
};

class TextEncoder final : public Encoder {
 public:
  explicit TextEncoder(const Kind* kind) : Encoder(kind) {}
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("embedding_dim", embedding_dim);
    sizes.fields(f);
    f("intermediate_output_index", intermediate_output_index);
    f("max_sequence_length", max_sequence_length);
  }

 protected:
  void assemble() override {
    const TensorRef ids = input("token_ids", {kUnknown, kUnknown}, DType::int32);
    input_struct = ArgDict{{"token_ids", ids}};
    finish(call("TokenAndPositionEmbedding", prefixed("embedding"),
                {{"vocabulary_size", vocabulary_size.value},
                 {"sequence_length", max_sequence_length.value},
                 {"embedding_dim", embedding_dim.value}},
                {ids}),
           true, kind_.text_epsilon);
  }

 private:
  Positive vocabulary_size, embedding_dim, max_sequence_length = 77;
};

class ClipBackbone final : public ImageTextBackbone {
 public:
  explicit ClipBackbone(const Kind* kind) : ImageTextBackbone(kind->stem, kind->image_texts), kind_(*kind) {}
  void fields(Fields& f) override {
    ImageTextBackbone::fields(f);
    f.required("projection_dim", projection_dim);
  }

 protected:
  void assemble() override {
    const auto projection = [&](const char* called) -> Layer& {
      return layer("Dense", called, {{"units", projection_dim.value}, {"use_bias", false}});
    };
    auto [image, text] = encoded();
    // The order of the layers is that of KerasHub's constructor, which counts for the order of variables.
    Layer& vision_pooler = layer(class_of("VisionPooler"), "vision_pooler", Json::object());
    Layer* const norm = !kind_.pools_before_norm
                            ? nullptr
                            : &layer("LayerNormalization", "vision_post_layer_norm", {{"epsilon", kEpsilon}});
    Layer& text_pooler = layer(class_of("TextPooler"), "text_pooler", Json::object());
    Layer& vision_projection = projection("vision_projection");
    Layer& text_projection = projection("text_projection");
    image = call(vision_pooler, {image});
    if (norm != nullptr) image = call(*norm, {image});
    image = call(vision_projection, {image});
    text = call(text_projection, {call(text_pooler, {text, token_ids()})});
    compare(class_of("Head"), kind_.head, image, text);
  }

 private:
  const Kind& kind_;
  Positive projection_dim;
};

LayerPtr make_head() { return std::make_unique<SimilarityHead>(false, std::log(1 / 0.07)); }

constexpr std::string_view kLayerModule = "keras_hub.src.models.clip.clip_layers",
                           kLayerModule2 = "keras_hub.src.models.metaclip_2.metaclip_2_layers";

constexpr std::string_view kEmbeddingSymbols = "class_embedding: d_model; position_ids: - -";
constexpr std::array kLayers = {
    layer_record("CLIPVisionEmbedding", make_with<VisionEmbedding, &kClip>, kLayerModule, Role::embedding,
                 kEmbeddingSymbols),
    layer_record("CLIPEncoderLayer", make_layer<EncoderLayer>, kLayerModule, Role::transformer),
    layer_record("CLIPVisionPooler", make_layer<VisionPooler>, kLayerModule, Role::pooling),
    layer_record("CLIPTextPooler", make_with<TextPooler, &kClip>, kLayerModule, Role::pooling),
    layer_record("CLIPHead", make_head, kLayerModule, Role::merge),
    layer_record("MetaCLIP2VisionEmbedding", make_with<VisionEmbedding, &kMetaClip2>, kLayerModule2, Role::embedding,
                 kEmbeddingSymbols),
    layer_record("MetaCLIP2EncoderLayer", make_layer<EncoderLayer>, kLayerModule2, Role::transformer),
    layer_record("MetaCLIP2VisionPooler", make_layer<VisionPooler>, kLayerModule2, Role::pooling),
    layer_record("MetaCLIP2TextPooler", make_with<TextPooler, &kMetaClip2>, kLayerModule2, Role::pooling),
    layer_record("MetaCLIP2Head", make_head, kLayerModule2, Role::merge),
};

constexpr std::array kModels = {
    model_record<VisionEncoder, &kClip>("CLIPVisionEncoder", "keras_hub.src.models.clip.clip_vision_encoder"),
    model_record<TextEncoder, &kClip>("CLIPTextEncoder", "keras_hub.src.models.clip.clip_text_encoder"),
    model_record<ClipBackbone, &kClip>("CLIPBackbone", "keras_hub.src.models.clip.clip_backbone"),
    model_record<VisionEncoder, &kMetaClip2>("MetaCLIP2VisionEncoder",
                                             "keras_hub.src.models.metaclip_2.metaclip_2_vision_encoder"),
    model_record<TextEncoder, &kMetaClip2>("MetaCLIP2TextEncoder",
                                           "keras_hub.src.models.metaclip_2.metaclip_2_text_encoder"),
    model_record<ClipBackbone, &kMetaClip2>("MetaCLIP2Backbone", "keras_hub.src.models.metaclip_2.metaclip_2_backbone"),
};

/// The sizes that both encoders have. `width`, `layers` and `heads` are the defaults of transformers.
void tower(ConfigMap& map, std::string_view called, std::int64_t width, std::int64_t inner, std::int64_t heads) {
  if (map.reading()) map.put("name", std::string(called));
  map.same("hidden_dim", "hidden_size", width);
  map.same("num_layers", "num_hidden_layers", 12);
  map.same("num_heads", "num_attention_heads", heads);
  map.same("intermediate_dim", "intermediate_size", inner);
  map.same("intermediate_activation", "hidden_act", "quick_gelu");
  map.fixed("layer_norm_eps", {kEpsilon});
}

void vision_sizes(ConfigMap& map) {
  constexpr std::int64_t kWidth = 768, kInner = 3072, kHeads = 12;
  tower(map, "clip_vision_encoder", kWidth, kInner, kHeads);
  map.same("patch_size", "patch_size", 32);
  map.square("image_shape", "image_size", 224);
  map.fixed("num_channels", {3});
}

void text_sizes(ConfigMap& map, bool has_end_token) {
  constexpr std::int64_t kWidth = 512, kInner = 2048, kHeads = 8;
  tower(map, "clip_text_encoder", kWidth, kInner, kHeads);
  map.same("vocabulary_size", "vocab_size", 49408);
  map.same("max_sequence_length", "max_position_embeddings", 77);
  // In CLIP, a text ends at its token with the largest number; transformers does the same for a 2 here. MetaCLIP 2 has
  // the end token 2.
  const auto end = map.reading() ? map.find("eos_token_id") : std::nullopt;
  if (!map.reading()) map.put("eos_token_id", 2);
  if (end && end->json() != 2 && (has_end_token || end->json() != map.integer("vocab_size", 49408) - 1))
    map.refuse(*end, "an end token that is not the last one of the vocabulary");
  if (map.reading()) {
    map.put("embedding_dim", map.integer("hidden_size", kWidth), "hidden_size");
  } else if (map.of_keras("embedding_dim") != map.of_keras("hidden_dim")) {
    throw bad_input(
        "a text encoder whose embedding_dim is not its hidden_dim cannot be written as a Hugging Face folder");
  }
}

void clip_text_sizes(ConfigMap& map) { text_sizes(map, false); }
void metaclip_2_text_sizes(ConfigMap& map) { text_sizes(map, true); }

void clip_sizes(ConfigMap& map) {
  map.encoder("vision_encoder", "vision_config", "CLIPVisionEncoder", vision_sizes);
  map.encoder("text_encoder", "text_config", "CLIPTextEncoder", clip_text_sizes);
  map.same("projection_dim", "projection_dim", 512);
}

void metaclip_2_sizes(ConfigMap& map) {
  map.encoder("vision_encoder", "vision_config", "MetaCLIP2VisionEncoder", vision_sizes);
  map.encoder("text_encoder", "text_config", "MetaCLIP2TextEncoder", metaclip_2_text_sizes);
  map.same("projection_dim", "projection_dim", 512);
}

constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "clip",
                     .stem = "CLIP",
                     .architecture = "CLIP",
                     .sizes = clip_sizes,
                     .is_converted = false,
                     .heads = {}},
    HuggingFaceModel{.model_type = "metaclip_2",
                     .stem = "MetaCLIP2",
                     .architecture = "MetaClip2",
                     .sizes = metaclip_2_sizes,
                     .heads = {}},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 49> kNames{{
    {"*text_encoder_embedding/token_embedding/embeddings", "text_model.embeddings.token_embedding.weight", kSame},
    {"*text_encoder_embedding/position_embedding/embeddings", "text_model.embeddings.position_embedding.weight", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm_1/gamma", "text_model.encoder.layers.{}.layer_norm1.weight", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm_1/beta", "text_model.encoder.layers.{}.layer_norm1.bias", kSame},
    {"*text_encoder_encoder_block_{}/attention/query/kernel", "text_model.encoder.layers.{}.self_attn.q_proj.weight",
     kLinear},
    {"*text_encoder_encoder_block_{}/attention/query/bias", "text_model.encoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"*text_encoder_encoder_block_{}/attention/key/kernel", "text_model.encoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
    {"*text_encoder_encoder_block_{}/attention/key/bias", "text_model.encoder.layers.{}.self_attn.k_proj.bias",
     kVector},
    {"*text_encoder_encoder_block_{}/attention/value/kernel", "text_model.encoder.layers.{}.self_attn.v_proj.weight",
     kLinear},
    {"*text_encoder_encoder_block_{}/attention/value/bias", "text_model.encoder.layers.{}.self_attn.v_proj.bias",
     kVector},
    {"*text_encoder_encoder_block_{}/attention/attention_output/kernel",
     "text_model.encoder.layers.{}.self_attn.out_proj.weight", kFromHeads},
    {"*text_encoder_encoder_block_{}/attention/attention_output/bias",
     "text_model.encoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm_2/gamma", "text_model.encoder.layers.{}.layer_norm2.weight", kSame},
    {"*text_encoder_encoder_block_{}/layer_norm_2/beta", "text_model.encoder.layers.{}.layer_norm2.bias", kSame},
    {"*text_encoder_encoder_block_{}/dense_1/kernel", "text_model.encoder.layers.{}.mlp.fc1.weight", kLinear},
    {"*text_encoder_encoder_block_{}/dense_1/bias", "text_model.encoder.layers.{}.mlp.fc1.bias", kSame},
    {"*text_encoder_encoder_block_{}/dense_2/kernel", "text_model.encoder.layers.{}.mlp.fc2.weight", kLinear},
    {"*text_encoder_encoder_block_{}/dense_2/bias", "text_model.encoder.layers.{}.mlp.fc2.bias", kSame},
    {"*text_encoder_layer_norm/gamma", "text_model.final_layer_norm.weight", kSame},
    {"*text_encoder_layer_norm/beta", "text_model.final_layer_norm.bias", kSame},
    {"text_projection/kernel", "text_projection.weight", kLinear},
    {"*vision_encoder_embedding/class_embedding", "vision_model.embeddings.class_embedding", kSame},
    {"*vision_encoder_embedding/patch_embedding/kernel", "vision_model.embeddings.patch_embedding.weight",
     kConvolution},
    {"*vision_encoder_embedding/position_embedding/embeddings", "vision_model.embeddings.position_embedding.weight",
     kSame},
    {"*vision_encoder_embedding/position_ids", "", kCounted},
    {"*vision_encoder_pre_layer_norm/gamma", "vision_model.pre_layrnorm.weight", kSame},
    {"*vision_encoder_pre_layer_norm/beta", "vision_model.pre_layrnorm.bias", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm_1/gamma", "vision_model.encoder.layers.{}.layer_norm1.weight", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm_1/beta", "vision_model.encoder.layers.{}.layer_norm1.bias", kSame},
    {"*vision_encoder_encoder_block_{}/attention/query/kernel",
     "vision_model.encoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/attention/query/bias", "vision_model.encoder.layers.{}.self_attn.q_proj.bias",
     kVector},
    {"*vision_encoder_encoder_block_{}/attention/key/kernel", "vision_model.encoder.layers.{}.self_attn.k_proj.weight",
     kLinear},
    {"*vision_encoder_encoder_block_{}/attention/key/bias", "vision_model.encoder.layers.{}.self_attn.k_proj.bias",
     kVector},
    {"*vision_encoder_encoder_block_{}/attention/value/kernel",
     "vision_model.encoder.layers.{}.self_attn.v_proj.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/attention/value/bias", "vision_model.encoder.layers.{}.self_attn.v_proj.bias",
     kVector},
    {"*vision_encoder_encoder_block_{}/attention/attention_output/kernel",
     "vision_model.encoder.layers.{}.self_attn.out_proj.weight", kFromHeads},
    {"*vision_encoder_encoder_block_{}/attention/attention_output/bias",
     "vision_model.encoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm_2/gamma", "vision_model.encoder.layers.{}.layer_norm2.weight", kSame},
    {"*vision_encoder_encoder_block_{}/layer_norm_2/beta", "vision_model.encoder.layers.{}.layer_norm2.bias", kSame},
    {"*vision_encoder_encoder_block_{}/dense_1/kernel", "vision_model.encoder.layers.{}.mlp.fc1.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/dense_1/bias", "vision_model.encoder.layers.{}.mlp.fc1.bias", kSame},
    {"*vision_encoder_encoder_block_{}/dense_2/kernel", "vision_model.encoder.layers.{}.mlp.fc2.weight", kLinear},
    {"*vision_encoder_encoder_block_{}/dense_2/bias", "vision_model.encoder.layers.{}.mlp.fc2.bias", kSame},
    {"*vision_encoder_layer_norm/gamma", "vision_model.post_layernorm.weight", kSame},
    {"*vision_encoder_layer_norm/beta", "vision_model.post_layernorm.bias", kSame},
    {"vision_post_layer_norm/gamma", "vision_model.post_layernorm.weight", kSame},
    {"vision_post_layer_norm/beta", "vision_model.post_layernorm.bias", kSame},
    {"vision_projection/kernel", "visual_projection.weight", kLinear},
    {"*head/logit_scale", "logit_scale", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"CLIPBackbone", "", kNames},
    NameTable{"MetaCLIP2Backbone", "", kNames},
};

using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 1> kUnknownToken{"<unk>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "CLIPTokenizer",
               .kind = TokenizerKind::clip_pairs,
               .start = "<|startoftext|>",
               .end = kTextToken,
               .words = tokenizers::kClipWords},
    KerasClass{.name = "MetaCLIP2Tokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kEndToken,
               .pad = kPadToken,
               .more = kUnknownToken,
               .numbering = tokenizers::Numbering::fairseq_unmasked},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "clip",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::clip
