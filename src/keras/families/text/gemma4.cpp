// Gemma 4 without its encoders of images and sounds (keras_hub/src/models/gemma4).
//
// Letters: B batch, T tokens, D width, L layers, P features of the input for each layer.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/class_table.h"
#include "classes/composite.h"
#include "classes/decoding.h"
#include "classes/ops/expression.h"
#include "classes/ops/ops.h"
#include "families/blocks/absent_field.h"
#include "families/blocks/decoders/gemma4_attention.h"
#include "families/blocks/decoders/gemma4_block.h"
#include "families/blocks/decoders/gemma4_mixture.h"
#include "families/blocks/decoders/gemma_backbone.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::gemma4 {
namespace {

constexpr std::string_view kNorm = "Gemma4RMSNormalization", kFull = "full_attention",
                           kLayersModule = "keras_hub.src.models.gemma4.gemma4_layers",
                           kMixtureModule = "keras_hub.src.models.gemma4.gemma4_moe";

/// Casts to the compute dtype of the model, which an option may replace.
class ComputeCast final : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("dtype", policy.compute); }
  Arg call(Call& call) override {
    return Call::result(call.builder().cast(call.tensor("x")->id, call.compute_dtype()));
  }
};

/// Blocks with a window are followed by one without, in the order of layer_types. The last blocks share the keys and
/// values of earlier ones. Each block may have an input of its own, from a second embedding and a projection of the
/// first.
class Gemma4Backbone final : public GemmaFamilyBackbone {
 public:
  Gemma4Backbone() {
    use_sliding_window_attention = true;
    sliding_window_size = 512;
  }
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
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("sliding_window_pattern", sliding_window_pattern);
    layer_types(f);
    f("global_head_dim", global_head_dim);
    f("local_rope_scaling_factor", local_rope_scaling_factor);
    f("global_rope_scaling_factor", global_rope_scaling_factor);
    absent_field(f, "vision_encoder", "attn supports Gemma 4 only for text, not for images");
    absent_field(f, "audio_encoder", "attn supports Gemma 4 only for text, not for sounds");
    f("num_audio_tokens_per_clip", num_audio_tokens_per_clip);
    f("use_bidirectional_attention", use_bidirectional_attention);
    f("use_vision_bidirectional_attention", use_vision_bidirectional_attention);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    pooling_fields(f);
    f("num_kv_shared_layers", num_kv_shared_layers);
    f("num_global_key_value_heads", num_global_key_value_heads);
    f("hidden_size_per_layer_input", hidden_size_per_layer_input);
    f("vocab_size_per_layer_input", vocab_size_per_layer_input);
    f("global_rope_wavelength", global_rope_wavelength);
    f("local_rope_wavelength", local_rope_wavelength);
    f("global_rope_partial_rotary_factor", global_rope_partial_rotary_factor);
    f("use_double_wide_mlp", use_double_wide_mlp);
    f("enable_moe_block", enable_moe_block);
    f("num_experts", num_experts);
    f("expert_intermediate_dim", expert_intermediate_dim);
    f("num_experts_per_token", num_experts_per_token);
  }

 protected:
  void check_fields(const Ref& config) override {
    GemmaFamilyBackbone::check_fields(config);
    if (std::ssize(layer_types_) != num_layers)
      config["layer_types"].fail(fmt::format("{} types for {} layers", layer_types_.size(), num_layers.value));
    if (num_kv_shared_layers < 0 || num_kv_shared_layers >= num_layers)
      config["num_kv_shared_layers"].fail("expected fewer layers than num_layers, which have keys to share");
    if (hidden_size_per_layer_input < 0 || hidden_size_per_layer_input > kMostPerLayer)
      config["hidden_size_per_layer_input"].fail(fmt::format("expected an integer from 0 to {}", kMostPerLayer));
  }

  void assemble() override {
    Layer& embedding = make_embedding();
    Layer *per_layer_embedding = nullptr, *per_layer_projection = nullptr, *per_layer_norm = nullptr;
    const std::int64_t all = num_layers * hidden_size_per_layer_input;
    if (all > 0) {
      per_layer_embedding =
          &layer("Embedding", "per_layer_token_embedding",
                 {{"input_dim", vocab_size_per_layer_input.value_or(vocabulary_size).value}, {"output_dim", all}});
      per_layer_projection = &layer("Dense", "per_layer_model_projection", {{"units", all}, {"use_bias", false}});
      per_layer_norm = &layer(kNorm, "per_layer_projection_norm", {{"epsilon", layer_norm_epsilon.value}});
    }
    std::vector<Layer*> blocks;
    for (std::int64_t i = 0; i < num_layers; ++i)
      blocks.push_back(&layer("Gemma4TextDecoderBlock", fmt::format("decoder_block_{}", i), block_arguments(i)));
    Layer& norm = layer(kNorm, "final_normalization", {{"epsilon", layer_norm_epsilon.value}});

    const TensorRef padding_mask = tokens("padding_mask"), positions = tokens("position_ids"),
                    token_ids = tokens("token_ids");
    TensorRef x = call(embedding, {token_ids}), rows, projected;
    if (all > 0) rows = times(cast(call(*per_layer_embedding, {token_ids})), root(hidden_size_per_layer_input));
    x = times(x, root(hidden_dim));
    if (all > 0) projected = times(call(*per_layer_projection, {x}), 1.0 / root(hidden_dim));
    std::vector<TensorRef> keys;
    for (std::int64_t i = 0; i < num_layers; ++i) {
      ArgDict kwargs{{"padding_mask", padding_mask}, {"positions", positions}};
      if (all > 0) {
        const TensorRef own = part(projected, i), looked_up = part(rows, i);
        const TensorRef both = operation("Add", Json::object(), {call(*per_layer_norm, {own}), looked_up});
        kwargs.emplace_back("per_layer_input", times(both, 1.0 / std::sqrt(2.0)));
      }
      if (const auto source = source_of(i)) kwargs.emplace_back("shared_kv", keys[static_cast<std::size_t>(*source)]);
      x = call(*blocks[static_cast<std::size_t>(i)], {x}, std::move(kwargs));
      keys.push_back(x);
      keys.back().tensor = 1;
    }
    set_inputs({padding_mask, positions, token_ids});
    output_struct = pooled("Gemma4MeanPooling", call(norm, {x}), padding_mask);
  }

 private:
  static constexpr std::int64_t kMostPerLayer = 1 << 20;

  static double root(std::int64_t size) { return std::sqrt(static_cast<double>(size)); }

  /// Without types, every layer whose number is divisible by the pattern has full attention.
  void layer_types(Fields& f) {
    if (const auto given = f.reading() ? f.take("layer_types") : std::nullopt;
        !f.reading() || (given && !given->is_null()))
      return f("layer_types", layer_types_);
    for (std::int64_t i = 1; i <= std::min<std::int64_t>(num_layers, kMaxBlocks); ++i)
      layer_types_.emplace_back(i % sliding_window_pattern == 0 ? kFull : "sliding_attention");
  }
  [[nodiscard]] bool is_global(std::int64_t i) const { return layer_types_[static_cast<std::size_t>(i)] == kFull; }

  /// Returns the layer whose keys and values layer i shares: the last one of its type in front of the layers that share
  /// keys. Without such a layer, it has its own.
  [[nodiscard]] std::optional<std::int64_t> source_of(std::int64_t i) const {
    const std::int64_t own = num_layers - num_kv_shared_layers;
    if (i < own) return std::nullopt;
    for (std::int64_t j = own - 1; j >= 0; --j)
      if (is_global(j) == is_global(i)) return j;
    return std::nullopt;
  }

  [[nodiscard]] Json block_arguments(std::int64_t i) const {
    const auto or_null = [](const auto& value) { return value ? Json(value->value) : Json(); };
    const auto wavelength = [](const std::optional<Number>& given, double missing) {
      return given && *given != 0.0 ? given->value : missing;
    };
    const bool global = is_global(i), alternative = global && num_global_key_value_heads;
    const auto source = source_of(i);
    return {
        {"hidden_dim", hidden_dim.value},
        {"intermediate_dim", intermediate_dim.value},
        {"head_dim", head_dim.value},
        {"num_query_heads", num_query_heads.value},
        {"num_key_value_heads", num_key_value_heads.value},
        {"logit_soft_cap", number(attention_logit_soft_cap)},
        {"use_sliding_window_attention", use_sliding_window_attention && !global},
        {"sliding_window_size", sliding_window_size.value},
        {"rope_wavelength", global ? wavelength(global_rope_wavelength, 1e6) : wavelength(local_rope_wavelength, 1e4)},
        {"rope_scaling_factor", global ? global_rope_scaling_factor.value : local_rope_scaling_factor.value},
        {"rope_partial_rotary_factor", global ? global_rope_partial_rotary_factor.value : 1.0},
        {"use_bidirectional_attention", use_bidirectional_attention},
        {"use_vision_bidirectional_attention", use_vision_bidirectional_attention},
        {"is_global_attention", global},
        {"global_head_dim", or_null(global_head_dim)},
        {"layer_norm_epsilon", layer_norm_epsilon.value},
        {"dropout", dropout.value},
        {"is_kv_shared_layer", source.has_value()},
        {"kv_shared_layer_index", source ? Json(*source) : Json()},
        {"hidden_size_per_layer_input", hidden_size_per_layer_input},
        {"attention_k_eq_v", alternative},
        {"num_global_key_value_heads", alternative ? or_null(num_global_key_value_heads) : Json()},
        {"use_double_wide_mlp", use_double_wide_mlp},
        {"enable_moe_block", enable_moe_block},
        {"num_experts", or_null(num_experts)},
        {"expert_intermediate_dim", or_null(expert_intermediate_dim)},
        {"num_experts_per_token", num_experts_per_token.value}};
  }

  TensorRef times(const TensorRef& x, double factor) { return operation("Multiply", Json::object(), {x, factor}); }
  TensorRef cast(const TensorRef& x) {
    auto made = std::make_unique<ComputeCast>();
    made->info = operation_classes().find("Cast");
    made->name = "cast";
    made->policy = policy;
    Layer& out = *made;
    add(std::move(made));
    return call(out, {x});
  }
  /// Returns the features (B,T,P) of layer i in x (B,T,L·P).
  TensorRef part(const TensorRef& x, std::int64_t i) {
    const std::int64_t size = hidden_size_per_layer_input;
    return operation("GetItem", Json::object(),
                     {x, ArgList{SliceArg{}, SliceArg{}, SliceArg{graph::Range{i * size, (i + 1) * size, 1}}}});
  }

  std::optional<Positive> image_size, global_head_dim, num_global_key_value_heads, vocab_size_per_layer_input,
      num_experts, expert_intermediate_dim;
  Positive sliding_window_pattern = 6, num_experts_per_token = 8;
  std::int64_t num_kv_shared_layers = 0, hidden_size_per_layer_input = 0;
  std::vector<std::string> layer_types_;
  Number local_rope_scaling_factor{1.0}, global_rope_scaling_factor{1.0}, global_rope_partial_rotary_factor{1.0};
  std::optional<Number> global_rope_wavelength, local_rope_wavelength;
  bool use_bidirectional_attention = false, use_vision_bidirectional_attention = false, use_double_wide_mlp = false,
       enable_moe_block = false;
  Opaque num_audio_tokens_per_clip;
};

/// The positions of tokens are an input, and the logits may have a second soft cap.
class Gemma4CausalLM final : public CausalLM {
 public:
  void fields(Fields& f) override { f("final_logit_cap", final_logit_cap); }
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override {
    graph::Builder& b = lowering.builder();
    const graph::ValueId all = b.apply(graph::Fill{b.shape(token_ids), DType::int32, 1.0}, {});
    const ArgDict inputs = {{"padding_mask", Call::result(all)},
                            {"position_ids", Call::result(lowering.decoding->positions)},
                            {"token_ids", Call::result(token_ids)}};
    const Arg hidden = lowering.apply(backbone(), ArgList{inputs}, ArgDict{});
    Decoded decoded = answered(lowering, (*hidden.as<TensorPtr>())->id, every_position);
    if (final_logit_cap) decoded.logits = keras::soft_capped(b, decoded.logits, *final_logit_cap);
    return decoded;
  }

 protected:
  void check_fields(const Ref& config) override {
    if (backbone_flag("is_embedding_model"))
      config["backbone"]["config"]["is_embedding_model"].fail("a Gemma4CausalLM needs a backbone with false here");
    if (final_logit_cap && *final_logit_cap == 0.0) config["final_logit_cap"].fail("expected another number than 0");
  }
  void assemble() override {
    const TensorRef logits = reverse_embedding(backbone_result());
    output_struct = final_logit_cap ? soft_capped(logits, *final_logit_cap) : logits;
  }

 private:
  std::optional<Number> final_logit_cap;
};

constexpr std::array kLayers = {
    ClassInfo{.name = "Gemma4RMSNormalization",
              .make = make_gemma4_norm,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::normalization,
              .shown = "RMSNormalization",
              .symbols = "scale: d_model"},
    ClassInfo{.name = "Gemma4VNorm",
              .make = make_gemma4_value_norm,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::normalization},
    ClassInfo{.name = "Gemma4MeanPooling", .make = make_gemma_pooling, .since = kAnyKeras, .module = kLayersModule},
    ClassInfo{.name = "Gemma4TextAttention",
              .make = make_gemma4_attention,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma4.gemma4_attention",
              .role = Role::attention,
              .symbols = kGemmaAttentionSymbols},
    ClassInfo{.name = "Gemma4Router",
              .make = make_gemma4_router,
              .since = kAnyKeras,
              .module = kMixtureModule,
              .symbols = "per_dim_scale: d_model"},
    ClassInfo{.name = "Gemma4MoEBlock",
              .make = make_gemma4_experts,
              .since = kAnyKeras,
              .module = kMixtureModule,
              .symbols = "gate_proj: - d_model -; up_proj: - d_model -; down_proj: - - d_model;"
                         " per_expert_scale: -"},
    ClassInfo{.name = "Gemma4TextDecoderBlock",
              .make = make_gemma4_block,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gemma4.gemma4_decoder_block",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<Gemma4Backbone>("Gemma4Backbone", "keras_hub.src.models.gemma4.gemma4_backbone"),
    model_record<Gemma4CausalLM>("Gemma4CausalLM", "keras_hub.src.models.gemma4.gemma4_causal_lm"),
};

constexpr std::array<std::string_view, 3> kVisionTokens{"<|image>", "<|image|>", "<image|>"};
// Gemma4CausalLM.generate also stops at the end of the turn.
constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "Gemma4Tokenizer",
                           .kind = tokenizers::TokenizerKind::sentence_piece,
                           .start = "<bos>",
                           .end = "<eos>",
                           .pad = kPadToken,
                           .vision = kVisionTokens,
                           .turn_end = "<turn|>"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "gemma4", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers, .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::gemma4
