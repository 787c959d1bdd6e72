// Gemma 3, for text (keras_hub/src/models/gemma3).
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "classes/composite.h"
#include "classes/ops/expression.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoder_names.h"
#include "families/blocks/gemma_backbone.h"
#include "families/blocks/gemma_blocks.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"
#include "model/tasks/text_embedder.h"

namespace attn::keras::gemma3 {
namespace {

/// The text model: five blocks with a window are followed by one without, which has longer wavelengths.
class Gemma3Backbone : public GemmaFamilyBackbone {
 public:
  Gemma3Backbone() { sliding_window_size = 1024; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("image_size", image_size);
    f.required("num_layers", num_layers);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
    f("query_head_dim_normalize", query_head_dim_normalize);
    f("use_query_key_norm", use_query_key_norm);
    f("use_post_ffw_norm", use_post_ffw_norm);
    f("use_post_attention_norm", use_post_attention_norm);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("local_rope_scaling_factor", local_rope_scaling_factor);
    f("global_rope_scaling_factor", global_rope_scaling_factor);
    f("vision_encoder", vision_encoder);
    f("use_bidirectional_attention", use_bidirectional_attention);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("is_embedding_model", is_embedding_model);
    f("pooling_intermediate_dim", pooling_intermediate_dim);
    f("embedding_dim", embedding_dim);
  }

 protected:
  void check_fields(const Ref& config) override {
    GemmaFamilyBackbone::check_fields(config);
    if (!vision_encoder.json.is_null())
      config["vision_encoder"].fail("expected null: attn supports Gemma 3 only for text");
    if (!is_embedding_model) return;
    for (const auto& [key, value] :
         {std::pair{"pooling_intermediate_dim", pooling_intermediate_dim}, {"embedding_dim", embedding_dim}})
      if (!value) config[key].fail("expected a size, because is_embedding_model is true");
  }
  void assemble() override {
    assemble_with("Gemma3DecoderBlock", "Gemma3RMSNormalization", [&](std::int64_t i) -> Json {
      const bool local = use_sliding_window_attention && i % 6 < 5;
      return {{"use_query_key_norm", use_query_key_norm},
              {"gate_dim_reduction", 1},
              {"use_sliding_window_attention", local},
              {"use_bidirectional_attention", use_bidirectional_attention},
              {"rope_wavelength", local ? 10'000.0 : 1'000'000.0},
              {"rope_scaling_factor", local ? local_rope_scaling_factor.value : global_rope_scaling_factor.value}};
    });
    if (is_embedding_model) pool(*output_struct.as<TensorRef>());
  }

 private:
  /// Adds the head of EmbeddingGemma: a vector of length 1 for each text.
  void pool(const TensorRef& sequence) {
    TensorRef x = call("Gemma3MeanPooling", "mean_pooling", Json::object(), {sequence},
                       {{"padding_mask", TensorRef{"padding_mask", 0, 0}}});
    x = call("Dense", "pooling_dense_1", {{"units", pooling_intermediate_dim->value}, {"use_bias", false}}, {x});
    x = call("Dense", "embedding_projection", {{"units", embedding_dim->value}, {"use_bias", false}}, {x});
    x = call("UnitNormalization", "unit_normalization", {{"axis", -1}}, {x});
    output_struct = ArgDict{{"sequence_output", sequence}, {"pooled_output", x}};
  }

  std::optional<Positive> image_size, pooling_intermediate_dim, embedding_dim;
  bool use_query_key_norm = true, use_bidirectional_attention = false, is_embedding_model = false;
  Number local_rope_scaling_factor{1.0}, global_rope_scaling_factor{1.0};
  Opaque vision_encoder;
};

/// Returns the mean (B,D) of a text's tokens (B,T,D), without padding.
class Gemma3MeanPooling final : public Layer {
 public:
  void fields(Fields&) override {}
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "padding_mask"};
    return kNames;
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const graph::Reduce over_tokens{graph::ReduceFn::sum, {1}, false};
    const Expression x(b, call.tensor("inputs")->id);
    const graph::ValueId padding = call.tensor("padding_mask")->id;
    const Expression mask(b, b.cast(b.expand_dims(padding, -1), b.dtype(x)));
    const Expression sum(b, b.apply(over_tokens, {x * mask})), tokens(b, b.apply(over_tokens, {mask}));
    return Call::result((sum / max(tokens, tokens.number(1e-9))).cast(call.compute_dtype()));
  }
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
    ClassInfo{.name = "Gemma3DecoderBlock",
              .make = make_gemma_block<GemmaGeneration::third>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_decoder_block",
              .role = Role::transformer},
    ClassInfo{.name = "Gemma3MeanPooling",
              .make = make_layer<Gemma3MeanPooling>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma3.gemma3_layers",
              .no_params = "it averages the vectors of a text's tokens"},
};

constexpr std::array kModels = {
    model_record<Gemma3Backbone>("Gemma3Backbone", "keras_hub.src.models.gemma3.gemma3_backbone"),
    model_record<CausalLM>("Gemma3CausalLM", "keras_hub.src.models.gemma3.gemma3_causal_lm"),
    model_record<Gemma3TextEmbedder>("Gemma3TextEmbedder", "keras_hub.src.models.gemma3.gemma3_text_embedder"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"gemma3_text", "Gemma3", "Gemma3", sizes},
};

constexpr std::array kWeightNames = {weights::NameTable{"Gemma3Backbone", "model.", kGemma2Names}};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 3> kVisionTokens{"<img>", "<start_of_image>", "<end_of_image>"};
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
