// Gemma 3 (keras_hub/src/models/gemma3).
//
// Letters: B batch, T tokens, I images of an entry, P positions of an image, D width.
#include <array>
#include <optional>
#include <vector>

#include "classes/call.h"
#include "classes/decoding.h"
#include "classes/layers/layers.h"
#include "classes/reading.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_names.h"
#include "families/blocks/decoders/gemma_backbone.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/images/gemma_vit.h"
#include "families/blocks/images/image_causal_lm.h"
#include "families/blocks/images/interleaved.h"
#include "families/blocks/name_rows.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/multimodal.h"
#include "model/sized_inputs.h"
#include "model/tasks/text_embedder.h"

namespace attn::keras::gemma3 {
namespace {

constexpr std::string_view kNorm = "Gemma3RMSNormalization",
                           kVisionModule = "keras_hub.src.models.gemma3.gemma3_vision_encoder";
constexpr GemmaVitKind kKind{"Gemma3VisionEmbedding", "Gemma3VisionAttention", "Gemma3VisionEncoderLayer",
                             "gemma3_vision_encoder_layer", true};

/// Means of the patches of an image in squares: (B,P,D) → (B,P/pool_size²,D).
class Gemma3VisionAveragePooling final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("pool_size", pool_size);
  }
  void check(const Ref& config) override { checked_patches(config, "pool_size", reduced(), reduced()); }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("inputs");
    return {{{in[0], reduced() * reduced(), in.back()}}};
  }

  void build(Weights&, Call&) override {
    pooling_ = &make("AveragePooling2D", "average_pooling", "average_pooling",
                     {{"pool_size", pool_size.value}, {"strides", pool_size.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr in = call.tensor("inputs");
    const Shape shape = b.shape(in->id);
    const graph::ValueId cells = b.reshape(in->id, {shape[0], width(), width(), shape[2]});
    const graph::ValueId pooled = apply(call, *pooling_, {Call::result(cells)})->id;
    return Call::result(b.reshape(pooled, {shape[0], reduced() * reduced(), shape[2]}));
  }

 private:
  [[nodiscard]] std::int64_t width() const { return image_size / patch_size; }
  [[nodiscard]] std::int64_t reduced() const { return width() / pool_size; }

  Positive image_size, patch_size, pool_size;
  Layer* pooling_ = nullptr;
};

/// A norm, and a projection to the width of the text model.
class Gemma3VisionOutput final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("output_dim", output_dim);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
  }
  void build(Weights&, Call&) override {
    norm_ = &make(kNorm, "vision_soft_embedding_norm", "vision_soft_embedding_norm",
                  {{"epsilon", layer_norm_epsilon.value}});
    projection_ =
        &make("Dense", "vision_input_projection", "vision_input_projection",
              {{"units", output_dim.value}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    return apply(call, *projection_, {apply(call, *norm_, {call.tensor("inputs")})});
  }

 private:
  Positive output_dim;
  Number layer_norm_epsilon{1e-6};
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* norm_ = nullptr;
  Layer* projection_ = nullptr;
};

/// Images (B,I,H,W,3) → the rows that replace the placeholders of a text (B·I,P,D).
class Gemma3VisionEncoder final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", sizes.num_heads);
    f.required("hidden_dim", sizes.hidden_dim);
    f.required("num_layers", sizes.num_layers);
    f.required("intermediate_dim", sizes.intermediate_dim);
    f.required("output_dim", output_dim);
    f("pool_size", pool_size);
    f.required("image_size", sizes.image_size);
    f.required("patch_size", sizes.patch_size);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  [[nodiscard]] std::int64_t image_size() const { return sizes.image_size; }
  [[nodiscard]] std::int64_t image_tokens() const { return sizes.side() * sizes.side() / (pool_size * pool_size); }

 protected:
  void check_fields(const Ref& config) override {
    sizes.check(config, "", "image_size");
    if (sizes.side() % pool_size != 0)
      config["pool_size"].fail(
          fmt::format("{} patches in a row cannot be pooled by {}", sizes.side(), pool_size.value));
  }
  void assemble() override {
    const Dim size = sizes.image_size;
    const TensorRef images = input("images", {kUnknown, kUnknown, size, size, 3}, DType::float32);
    // KerasHub passes the encoder's ε only to the last layer.
    TensorRef x = call("Gemma3VisionEncoderBlock", "image_encoder", sizes.arguments(), {images});
    x = call("Gemma3VisionAveragePooling", "pooling",
             {{"image_size", size}, {"patch_size", sizes.patch_size.value}, {"pool_size", pool_size.value}}, {x});
    input_struct = images;
    output_struct = call("Gemma3VisionOutput", "vision_output_encoder",
                         {{"output_dim", output_dim.value},
                          {"layer_norm_epsilon", layer_norm_epsilon.value},
                          {"kernel_initializer", normal_initializer("RandomNormal", 0.01)}},
                         {x});
  }

 private:
  GemmaVitSizes sizes;
  Positive output_dim, pool_size = 14;
  Number layer_norm_epsilon{1e-6};
};

/// Puts the rows of images (B·I,P,D) into a text (B,T,D), at the positions (B,I·P) `vision_indices`.
class Gemma3InterleaveEmbeddings final : public Layer {
 public:
  void fields(Fields& f) override { f.required("num_vision_tokens_per_image", num_vision_tokens_per_image); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"image_embeddings", "text_embeddings", "vision_indices"};
    return kNames;
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return {{call.shape("image_embeddings")}};  // KerasHub's compute_output_shape has the shape of the first argument
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const TensorPtr texts = call.tensor("text_embeddings");
    if (call.lowering().symbolic()) return Call::result(texts->id);
    const Shape images = call.shape("image_embeddings"), indices = call.shape("vision_indices");
    if (indices[0] * indices[1] != images[0] * images[1])
      throw bad_input("vision_indices are {}, but {} images have {} rows each", indices.str(), images[0], images[1]);
    const graph::ValueId rows = b.reshape(call.tensor("image_embeddings")->id, {indices[0], indices[1], images[2]});
    return Call::result(interleaved(b, texts->id, rows, call.tensor("vision_indices")->id));
  }

 private:
  Positive num_vision_tokens_per_image;
};

/// Five blocks with a window are followed by one without, which has longer wavelengths. With a vision encoder, images
/// stand between the tokens.
class Gemma3Backbone : public GemmaFamilyBackbone, public SizedInputs {
 public:
  Gemma3Backbone() { sliding_window_size = 1024; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("image_size", image_size);
    size_fields(f);
    f("query_head_dim_normalize", query_head_dim_normalize);
    f("use_query_key_norm", use_query_key_norm);
    f("use_post_ffw_norm", use_post_ffw_norm);
    f("use_post_attention_norm", use_post_attention_norm);
    limit_fields(f);
    f("local_rope_scaling_factor", local_rope_scaling_factor);
    f("global_rope_scaling_factor", global_rope_scaling_factor);
    if (const auto given = f.reading() ? f.take("vision_encoder") : std::nullopt; !given || !given->is_null())
      f("vision_encoder", vision_encoder_);
    f("use_bidirectional_attention", use_bidirectional_attention);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    pooling_fields(f);
  }
  /// Returns the vision encoder; null for a text model.
  [[nodiscard]] Gemma3VisionEncoder* encoder() const {
    return dynamic_cast<Gemma3VisionEncoder*>(vision_encoder_.get());
  }
  [[nodiscard]] Layer& encoder_layer() const { return *vision_encoder_; }
  /// Without arrays, there is one image.
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override {
    if (axis != 1 || encoder() == nullptr) return std::nullopt;
    if (input == "images") return 1;
    return input == "vision_indices" ? std::optional<Dim>(encoder()->image_tokens()) : std::nullopt;
  }

 protected:
  void check_fields(const Ref& config) override {
    GemmaFamilyBackbone::check_fields(config);
    if (vision_encoder_ != nullptr && vision_encoder_->class_name() != "Gemma3VisionEncoder")
      config["vision_encoder"].fail(
          fmt::format("expected a Gemma3VisionEncoder, not a {}", vision_encoder_->class_name()));
  }
  void assemble() override {
    const auto further = [&](std::int64_t i) -> Json {
      const bool local = use_sliding_window_attention && i % 6 < 5;
      return {{"use_query_key_norm", use_query_key_norm},
              {"gate_dim_reduction", 1},
              {"use_sliding_window_attention", local},
              {"rope_wavelength", local ? 10'000.0 : 1'000'000.0},
              {"rope_scaling_factor", local ? local_rope_scaling_factor.value : global_rope_scaling_factor.value},
              {"use_bidirectional_attention", use_bidirectional_attention}};
    };
    if (vision_encoder_ == nullptr) return assemble_with("Gemma3DecoderBlock", kNorm, further);
    Layer& embedding = make_embedding();
    borrow(*vision_encoder_);
    Layer& interleave = layer("Gemma3InterleaveEmbeddings", "interleave_embeddings",
                              {{"num_vision_tokens_per_image", encoder()->image_tokens()}});
    const Dim size = encoder()->image_size();
    const TensorRef images = input("images", {kUnknown, kUnknown, size, size, 3}, DType::float32);
    const TensorRef indices = tokens("vision_indices"), vision_mask = tokens("vision_mask"),
                    token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef texts = scaled(call(embedding, {token_ids}));
    const TensorRef x = call(interleave, {},
                             {{"image_embeddings", call(*vision_encoder_, {images})},
                              {"text_embeddings", texts},
                              {"vision_indices", indices}});
    const TensorRef through = through_blocks(x, "Gemma3DecoderBlock", "decoder_block", with_shared(further),
                                             {{"padding_mask", padding_mask}, {"vision_mask", vision_mask}});
    set_inputs({token_ids, padding_mask, images, indices, vision_mask});
    output_struct = ended(final_norm(kNorm, through), padding_mask);
  }
  Arg ended(const TensorRef& sequence, const TensorRef& padding_mask) override {
    return pooled("Gemma3MeanPooling", sequence, padding_mask);
  }

 private:
  std::optional<Positive> image_size;
  bool use_query_key_norm = true, use_bidirectional_attention = false;
  Number local_rope_scaling_factor{1.0}, global_rope_scaling_factor{1.0};
  LayerPtr vision_encoder_;
};

/// Prompts may contain marks of images if the backbone has a vision encoder.
class Gemma3CausalLM final : public ImageCausalLM, public Multimodal, public SizedInputs {
 public:
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const override {
    const Gemma3VisionEncoder* const encoder = own().encoder();
    if (encoder == nullptr) return {};
    return {{.input = "images",
             .shape = {encoder->image_size(), encoder->image_size(), 3},
             .tokens = encoder->image_tokens(),
             .mark = "<start_of_image>",
             .start = "\n\n<start_of_image>",
             .placeholder = "<img>",
             .end = "<end_of_image>\n\n"}};
  }
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override {
    return own().default_size(input, axis);
  }

 protected:
  std::pair<graph::ValueId, ArgDict> with_images(Lowering& lowering, graph::ValueId texts) override {
    graph::Builder& b = lowering.builder();
    const Decoding& decoding = *lowering.decoding;
    const TensorPtr images = decoding.media_input(b, "images", DType::float32),
                    indices = decoding.media_input(b, "vision_indices", DType::int32),
                    mask = decoding.media_input(b, "vision_mask", DType::int32);
    const Arg seen = lowering.apply(own().encoder_layer(), ArgList{images}, ArgDict{});
    const Arg x = lowering.apply(
        *own().find("interleave_embeddings"), ArgList{},
        ArgDict{{"image_embeddings", seen}, {"text_embeddings", Call::result(texts)}, {"vision_indices", indices}});
    return {(*x.as<TensorPtr>())->id, {{"vision_mask", mask}}};
  }

 private:
  [[nodiscard]] Gemma3Backbone& own() const { return dynamic_cast<Gemma3Backbone&>(backbone()); }
};

/// The embedder of EmbeddingGemma returns the backbone's own vectors.
class Gemma3TextEmbedder final : public TextEmbedder {
 public:
  Gemma3TextEmbedder() : TextEmbedder(&kDecoderPooling) {}

 protected:
  void assemble() override {
    if (!backbone_flag("is_embedding_model")) return TextEmbedder::assemble();
    TensorRef result = backbone_result("pooled_output");
    ++result.node;  // an output counts the calls of a functional member from 1
    output_struct = result;
  }
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  if (map.reading()) map.put("image_size", Json());
  map.same("num_layers", "num_hidden_layers");
  map.same("num_query_heads", "num_attention_heads");
  map.same("num_key_value_heads", "num_key_value_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("head_dim", "head_dim", 256);
  query_scale(map);
  if (map.reading()) {
    for (const char* key :
         {"use_query_key_norm", "use_post_ffw_norm", "use_post_attention_norm", "use_sliding_window_attention"})
      map.put(key, true);
  }
  map.nullable("attention_logit_soft_cap", "attn_logit_softcapping", Json());
  map.nullable("final_logit_soft_cap", "final_logit_softcapping", Json());
  map.same("sliding_window_size", "sliding_window", 4096);
  constexpr const char* kBothWays = "use_bidirectional_attention";
  map.same(kBothWays, kBothWays, false);
  if (map.reading() && !map.as_keras_hub() && map.flag(kBothWays, false)) {
    // A window of transformers has size / 2 positions on both sides; KerasHub's has one less on the left if it is even.
    map.put("sliding_window_size", map.integer("sliding_window", 4096) / 2 * 2 + 1, "sliding_window");
  }
  if (map.reading()) {
    const auto scaling = rope_scaling(map);
    if (scaling && rope_type(*scaling) != "linear")
      map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
    map.put("global_rope_scaling_factor", scaling ? (*scaling)["factor"].json() : Json(1.0), kRopeScaling);
    map.put("vision_encoder", Json());
  } else if (const Json factor = map.of_keras("global_rope_scaling_factor"); factor != 1.0) {
    map.put(kRopeScaling, {{"rope_type", "linear"}, {"factor", factor}});
  }
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.fixed("rope_theta", {1000000.0});
  map.fixed("rope_local_base_freq", {10000.0});
  map.fixed("sliding_window_pattern", {6});
  map.fixed("hidden_activation", {kTanhGelu});
  map.fixed("attention_bias", {false});
  map.fixed("tie_word_embeddings", {true});
}

/// Returns the record of a layer of the vision encoder.
constexpr ClassInfo vision_record(std::string_view name, LayerPtr (*make)(), Role role = Role::other) {
  return {.name = name, .make = make, .since = kAnyKeras, .module = kVisionModule, .role = role};
}

constexpr std::array kLayers = {
    ClassInfo{.name = "Gemma3RMSNormalization",
              .make = make_gemma_norm,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_layers",
              .role = Role::normalization,
              .shown = "RMSNormalization",
              .symbols = "scale: d_model"},
    ClassInfo{.name = "CachedGemma3Attention",
              .make = make_gemma_attention<GemmaGeneration::third>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_attention",
              .role = Role::attention,
              .symbols = kGemmaAttentionSymbols},
    vision_record("Gemma3VisionEmbedding", make_gemma_vit_embedding, Role::embedding),
    vision_record("Gemma3VisionAttention", make_gemma_vit_attention, Role::attention),
    vision_record(
        "Gemma3VisionEncoderLayer", [] { return make_gemma_vit_block(kKind); }, Role::transformer),
    vision_record("Gemma3VisionEncoderBlock", [] { return make_gemma_vit_encoder(kKind); }),
    vision_record("Gemma3VisionAveragePooling", make_layer<Gemma3VisionAveragePooling>, Role::pooling),
    vision_record("Gemma3VisionOutput", make_layer<Gemma3VisionOutput>),
    ClassInfo{.name = "Gemma3InterleaveEmbeddings",
              .make = make_layer<Gemma3InterleaveEmbeddings>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_layers",
              .role = Role::merge},
    ClassInfo{.name = "Gemma3MeanPooling",
              .make = make_gemma_pooling,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_layers"},
    ClassInfo{.name = "Gemma3DecoderBlock",
              .make = make_gemma_block<GemmaGeneration::third>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_decoder_block",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<Gemma3Backbone>("Gemma3Backbone", "keras_hub.src.models.gemma3.gemma3_backbone"),
    model_record<Gemma3TextEmbedder>("Gemma3TextEmbedder", "keras_hub.src.models.gemma3.gemma3_text_embedder"),
    model_record<Gemma3VisionEncoder>("Gemma3VisionEncoder", kVisionModule),
    model_record<Gemma3CausalLM>("Gemma3CausalLM", "keras_hub.src.models.gemma3.gemma3_causal_lm"),
};

constexpr std::array kHeads{Head{"ForCausalLM", "CausalLM"}, Head{"TextModel", kBackboneHead}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "gemma3_text",
                     .stem = "Gemma3",
                     .architecture = "Gemma3",
                     .sizes = sizes,
                     .heads = kHeads,
                     .has_projections = true},
};

// The dense layers are in files of sentence-transformers.
constexpr std::array<NameRow, 2> kProjectionNames{{
    {"pooling_dense_1/kernel", "2_Dense.linear.weight", weights::layouts::kLinear, true},
    {"embedding_projection/kernel", "3_Dense.linear.weight", weights::layouts::kLinear, true},
}};
constexpr auto kNames = name_rows(kGemma2Names, kProjectionNames);
constexpr std::array kWeightNames = {weights::NameTable{"Gemma3Backbone", "model.", kNames}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 3> kVisionTokens{"<img>", "<start_of_image>", "<end_of_image>"};
constexpr std::array<std::string_view, 1> kShownTokens{"<start_of_image>"};
// Gemma3CausalLM.generate also stops at the end of the turn.
constexpr std::array kTokenizers = {
    KerasClass{.name = "Gemma3Tokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = "<bos>",
               .end = "<eos>",
               .pad = kPadToken,
               .transformers_class = "GemmaTokenizer",
               .transformers_file = "tokenizer.model",
               .vision = kVisionTokens,
               .shown = kShownTokens,
               .turn_end = "<end_of_turn>"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "gemma3_text", .keras_class = "Gemma3Tokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "gemma3",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders,
                                       .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::gemma3
