// Letters: see gemma4_backbone.h; I images of an entry.
#include "families/blocks/decoders/gemma4_backbone.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "classes/class_table.h"
#include "classes/composite.h"
#include "classes/decoding.h"
#include "classes/ops/expression.h"
#include "classes/ops/ops.h"
#include "classes/reading.h"

namespace attn::keras {
namespace {

using graph::ValueId;

constexpr std::string_view kNorm = "Gemma4RMSNormalization", kFull = "full_attention";

/// Casts to the compute dtype of the model, which an option may replace.
class ComputeCast final : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("dtype", policy.compute); }
  Arg call(Call& call) override {
    return Call::result(call.builder().cast(call.tensor("x")->id, call.compute_dtype()));
  }
};

}  // namespace

void Gemma4Backbone::fields(Fields& f) {
  f.required("vocabulary_size", vocabulary_size);
  f.required("image_size", image_size);
  size_fields(f);
  f("query_head_dim_normalize", query_head_dim_normalize);
  limit_fields(f);
  f("sliding_window_pattern", sliding_window_pattern);
  layer_types(f);
  f("global_head_dim", global_head_dim);
  f("local_rope_scaling_factor", local_rope_scaling_factor);
  f("global_rope_scaling_factor", global_rope_scaling_factor);
  const auto encoder_field = [&](const char* key, LayerPtr& encoder) {
    const auto given = f.reading() ? f.take(key) : std::nullopt;
    if (!given || !given->is_null()) f(key, encoder);
  };
  encoder_field("vision_encoder", vision_encoder_);
  encoder_field("audio_encoder", audio_encoder_);
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

void Gemma4Backbone::layer_types(Fields& f) {
  if (const auto given = f.reading() ? f.take("layer_types") : std::nullopt;
      !f.reading() || (given && !given->is_null()))
    return f("layer_types", layer_types_);
  for (std::int64_t i = 1; i <= std::min<std::int64_t>(num_layers, kMaxBlocks); ++i)
    layer_types_.emplace_back(i % sliding_window_pattern == 0 ? kFull : "sliding_attention");
}

void Gemma4Backbone::check_fields(const Ref& config) {
  GemmaFamilyBackbone::check_fields(config);
  if (std::ssize(layer_types_) != num_layers)
    config["layer_types"].fail(fmt::format("{} types for {} layers", layer_types_.size(), num_layers.value));
  if (num_kv_shared_layers < 0 || num_kv_shared_layers >= num_layers)
    config["num_kv_shared_layers"].fail("expected fewer layers than num_layers, which have keys to share");
  if (hidden_size_per_layer_input < 0 || hidden_size_per_layer_input > kMostPerLayer)
    config["hidden_size_per_layer_input"].fail(fmt::format("expected an integer from 0 to {}", kMostPerLayer));
  check_encoders(config);
  constexpr std::int64_t kDefaultTokens = 750;
  if (audio_encoder() != nullptr && !num_audio_tokens_per_clip) num_audio_tokens_per_clip = kDefaultTokens;
}

void Gemma4Backbone::check_encoders(const Ref& config) const {
  const auto check = [&](const char* key, const LayerPtr& layer, const auto* encoder, std::string_view wanted) {
    if (layer == nullptr) return;
    if (encoder == nullptr) config[key].fail(fmt::format("expected a {}, not a {}", wanted, layer->class_name()));
    if (encoder->features() != hidden_dim)
      config[key]["config"]["output_dim"].fail(
          fmt::format("expected {}, the width of the text model", hidden_dim.value));
  };
  check("vision_encoder", vision_encoder_, encoder(), "Gemma4VisionEncoder");
  check("audio_encoder", audio_encoder_, audio_encoder(), "Gemma4AudioEncoder");
}

std::optional<Dim> Gemma4Backbone::default_size(std::string_view input, int axis) const {
  constexpr Dim kSteps = 64;
  if (input.starts_with("audio_mel")) return axis == 1 ? 1 : kSteps;
  if (input == "audio_indices" && axis == 1) return audio_encoder()->rows(kSteps);
  if (encoder() == nullptr) return std::nullopt;
  if (input == "vision_indices" && axis == 1) return encoder()->rows(encoder()->patches());
  if (input != "pixel_values" && input != "pixel_position_ids") return std::nullopt;
  if (axis == 1) return 1;
  return axis == 2 ? encoder()->patches() : encoder()->patch_numbers();
}

/// The calls of the text model, which are assembled once and lowered for each decode step.
class Gemma4Backbone::Calls {
 public:
  virtual ~Calls() = default;
  virtual Arg call(Layer& layer, ArgList args, ArgDict kwargs) = 0;
  /// Calls a block. Returns its result, and the keys and values that other blocks may share.
  virtual std::pair<Arg, Arg> call_block(Layer& layer, ArgList args, ArgDict kwargs) = 0;
  virtual Arg times(const Arg& x, double factor) = 0;
  virtual Arg sum(const Arg& x, const Arg& y) = 0;
  virtual Arg cast(const Arg& x) = 0;
  /// Returns the features (B,T,P) of layer i in x (B,T,L·P).
  virtual Arg part(const Arg& x, std::int64_t i) = 0;
};

/// Adds operations and calls to the model.
class Gemma4Backbone::MemberCalls final : public Calls {
 public:
  explicit MemberCalls(Gemma4Backbone& model) : model_(model) {}

  Arg call(Layer& layer, ArgList args, ArgDict kwargs) override {
    return Gemma4Backbone::call(layer, std::move(args), std::move(kwargs));
  }
  std::pair<Arg, Arg> call_block(Layer& layer, ArgList args, ArgDict kwargs) override {
    const TensorRef x = Gemma4Backbone::call(layer, std::move(args), std::move(kwargs));
    return {x, TensorRef{x.layer, x.node, 1}};
  }
  Arg times(const Arg& x, double factor) override { return operation("Multiply", {x, factor}); }
  Arg sum(const Arg& x, const Arg& y) override { return operation("Add", {x, y}); }
  Arg cast(const Arg& x) override {
    auto made = std::make_unique<ComputeCast>();
    made->info = operation_classes().find("Cast");
    made->name = "cast";
    for (int earlier = 1; model_.find(made->name) != nullptr; ++earlier) made->name = fmt::format("cast_{}", earlier);
    made->policy = model_.policy;
    Layer& out = *made;
    model_.add(std::move(made));
    return Gemma4Backbone::call(out, {x});
  }
  Arg part(const Arg& x, std::int64_t i) override {
    const std::int64_t size = model_.hidden_size_per_layer_input;
    const graph::Range own{i * size, (i + 1) * size, 1};
    return operation("GetItem", {x, ArgList{SliceArg{}, SliceArg{}, SliceArg{own}}});
  }
  TensorRef operation(std::string_view class_name, ArgList args, Json parameters = Json::object()) {
    return model_.operation(class_name, std::move(parameters), std::move(args));
  }

 private:
  Gemma4Backbone& model_;
};

/// Adds nodes to a graph.
class Gemma4Backbone::GraphCalls final : public Calls {
 public:
  GraphCalls(const Gemma4Backbone& model, Lowering& lowering) : model_(model), lowering_(lowering) {}

  Arg call(Layer& layer, ArgList args, ArgDict kwargs) override {
    return lowering_.apply(layer, std::move(args), std::move(kwargs));
  }
  std::pair<Arg, Arg> call_block(Layer& layer, ArgList args, ArgDict kwargs) override {
    const Arg results = lowering_.apply(layer, std::move(args), std::move(kwargs));
    return {(*results.as<ArgList>())[0], (*results.as<ArgList>())[1]};
  }
  Arg times(const Arg& x, double factor) override { return Call::result(value(x) * factor); }
  Arg sum(const Arg& x, const Arg& y) override { return Call::result(value(x) + value(y)); }
  Arg cast(const Arg& x) override { return x; }  // the second embedding computes in the dtype of the model
  Arg part(const Arg& x, std::int64_t i) override {
    const std::int64_t size = model_.hidden_size_per_layer_input;
    graph::Slice slice;
    slice.ranges = {{}, {}, {i * size, (i + 1) * size, 1}};
    return Call::result(lowering_.builder().apply(slice, {value(x)}));
  }
  [[nodiscard]] Expression value(const Arg& x) const { return {lowering_.builder(), (*x.as<TensorPtr>())->id}; }

 private:
  const Gemma4Backbone& model_;
  Lowering& lowering_;
};

Arg Gemma4Backbone::with_images(Calls& calls, const Arg& texts, const ArgDict& image, const Arg& indices) {
  const Arg seen = calls.times(calls.call(*vision_encoder_, {image}, {}), 1.0 / std::sqrt(hidden_dim.value));
  return interleaved(calls, "interleave_embeddings", seen, texts, indices);
}

Arg Gemma4Backbone::with_sounds(Calls& calls, const Arg& texts, const Arg& spectra, const Arg& valid,
                                const Arg& indices) {
  const Arg heard = calls.times(calls.call(*audio_encoder_, {spectra, valid}, {}), 1.0 / std::sqrt(hidden_dim.value));
  return interleaved(calls, "audio_interleave_embeddings", heard, texts, indices);
}

Arg Gemma4Backbone::interleaved(Calls& calls, std::string_view called, const Arg& rows, const Arg& texts,
                                const Arg& indices) {
  return calls.call(*find(called), {},
                    {{"image_embeddings", rows}, {"text_embeddings", texts}, {"vision_indices", indices}});
}

Arg Gemma4Backbone::through_text(Calls& calls, Arg x, const Arg& own_ids, const ArgDict& how) {
  const bool has_own = hidden_size_per_layer_input > 0;
  Arg rows, projected;
  if (has_own)
    rows = calls.times(calls.cast(calls.call(*find("per_layer_token_embedding"), {own_ids}, {})),
                       std::sqrt(hidden_size_per_layer_input));
  x = calls.times(x, std::sqrt(hidden_dim.value));
  if (has_own)
    projected =
        calls.times(calls.call(*find("per_layer_model_projection"), {x}, {}), 1.0 / std::sqrt(hidden_dim.value));
  std::vector<Arg> keys;
  for (std::int64_t i = 0; i < num_layers; ++i) {
    ArgDict kwargs = how;
    if (has_own) {
      const Arg own = calls.part(projected, i), looked_up = calls.part(rows, i);
      const Arg both = calls.sum(calls.call(*find("per_layer_projection_norm"), {own}, {}), looked_up);
      kwargs.emplace_back("per_layer_input", calls.times(both, 1.0 / std::sqrt(2.0)));
    }
    if (const auto source = source_of(i)) kwargs.emplace_back("shared_kv", keys[static_cast<std::size_t>(*source)]);
    std::tie(x, keys.emplace_back()) =
        calls.call_block(*find(fmt::format("decoder_block_{}", i)), {x}, std::move(kwargs));
  }
  return calls.call(*find("final_normalization"), {x}, {});
}

void Gemma4Backbone::make_layers() {
  make_embedding();
  if (const std::int64_t all = num_layers * hidden_size_per_layer_input; all > 0) {
    layer("Embedding", "per_layer_token_embedding",
          {{"input_dim", vocab_size_per_layer_input.value_or(vocabulary_size).value}, {"output_dim", all}});
    layer("Dense", "per_layer_model_projection", {{"units", all}, {"use_bias", false}});
    layer(kNorm, "per_layer_projection_norm", {{"epsilon", layer_norm_epsilon.value}});
  }
  if (encoder() != nullptr) borrow(*vision_encoder_);
  if (audio_encoder() != nullptr) borrow(*audio_encoder_);
  const auto add_interleave = [&](const char* called, std::int64_t tokens) {
    layer("Gemma4InterleaveEmbeddings", called, {{"num_vision_tokens_per_image", tokens}});
  };
  if (encoder() != nullptr) add_interleave("interleave_embeddings", encoder()->image_tokens());
  if (audio_encoder() != nullptr) add_interleave("audio_interleave_embeddings", *num_audio_tokens_per_clip);
  for (std::int64_t i = 0; i < num_layers; ++i)
    layer("Gemma4TextDecoderBlock", fmt::format("decoder_block_{}", i), block_arguments(i));
  layer(kNorm, "final_normalization", {{"epsilon", layer_norm_epsilon.value}});
}

void Gemma4Backbone::assemble() {
  make_layers();
  MemberCalls calls(*this);
  const bool sees = encoder() != nullptr, hears = audio_encoder() != nullptr;
  TensorRef positions_of_patches, patches, indices, vision_mask, audio_indices, audio_mask, audio_mel, audio_mel_mask;
  if (hears) {
    audio_indices = tokens("audio_indices");
    audio_mask = tokens("audio_mask");
    audio_mel = input("audio_mel", {kUnknown, kUnknown, kUnknown, audio_encoder()->spectrum()}, DType::float32);
    audio_mel_mask = input("audio_mel_mask", {kUnknown, kUnknown, kUnknown}, DType::int32);
  }
  const TensorRef padding_mask = tokens("padding_mask");
  if (sees) {
    positions_of_patches = input("pixel_position_ids", {kUnknown, kUnknown, kUnknown, 2}, DType::int32);
    patches = input("pixel_values", {kUnknown, kUnknown, kUnknown, kUnknown}, DType::float32);
  }
  const TensorRef positions = tokens("position_ids"), token_ids = tokens("token_ids");
  std::vector<TensorRef> inputs{padding_mask, positions, token_ids};
  ArgDict how{{"padding_mask", padding_mask}, {"positions", positions}};
  Arg x = calls.call(*find("token_embedding"), {token_ids}, {}), own_ids = token_ids;
  if (sees) {
    indices = tokens("vision_indices");
    vision_mask = tokens("vision_mask");
    inputs.insert(inputs.end(), {positions_of_patches, patches, indices, vision_mask});
    how.emplace_back("vision_mask", vision_mask);
    x = with_images(calls, x, {{"pixel_values", patches}, {"pixel_position_ids", positions_of_patches}}, indices);
  }
  if (hears) {
    inputs.insert(inputs.end(), {audio_indices, audio_mask, audio_mel, audio_mel_mask});
    const TensorRef valid = calls.operation("Cast", {audio_mel_mask}, {{"dtype", "bool"}});
    x = with_sounds(calls, x, audio_mel, valid, audio_indices);
    if (hidden_size_per_layer_input == 0)  // KerasHub connects the input without using it
      x = calls.sum(x, calls.operation("ExpandDims", {calls.times(calls.cast(audio_mask), 0.0)}, {{"axis", -1}}));
  }
  if (hidden_size_per_layer_input > 0) {
    for (const auto& [is_used, mask] : {std::pair(sees, vision_mask), std::pair(hears, audio_mask)}) {
      if (!is_used) continue;
      const TensorRef is_placed = calls.operation("Cast", {mask}, {{"dtype", "bool"}});
      own_ids = calls.operation("Where", {is_placed, calls.operation("ZerosLike", {own_ids}), own_ids});
    }
  }
  const TensorRef hidden = *through_text(calls, x, own_ids, how).as<TensorRef>();
  set_inputs(inputs);
  output_struct = pooled("Gemma4MeanPooling", hidden, padding_mask);
}

ValueId Gemma4Backbone::decode(Lowering& lowering, ValueId token_ids) {
  GraphCalls calls(*this, lowering);
  graph::Builder& b = lowering.builder();
  const Decoding& decoding = *lowering.decoding;
  const auto given = [&](const char* called, DType dtype = DType::int32) {
    return decoding.media_input(b, called, dtype);
  };
  const Arg ids = Call::result(token_ids);
  Arg x = calls.call(*find("token_embedding"), {ids}, {}), own_ids = ids;
  // The second embedding has the row of token 0 for placeholders.
  const auto hide = [&](const char* mask) {
    if (hidden_size_per_layer_input == 0) return;
    const Expression text = calls.value(own_ids);
    own_ids = Call::result(where({b, b.cast(given(mask)->id, DType::boolean)}, text.number(0.0), text));
  };
  if (decoding.media.contains("pixel_values")) {
    const TensorPtr pixels = given("pixel_values", DType::float32), indices = given("vision_indices");
    const Shape images = b.shape(pixels->id);
    const Dim rows = encoder()->rows(images[2]), positions = b.shape(indices->id)[1] / images[1];
    if (rows < positions)
      throw bad_input("an image has {} positions, but {} patches of it give {} rows", positions, images[2], rows);
    x = with_images(calls, x, {{"pixel_values", pixels}, {"pixel_position_ids", given("pixel_position_ids")}}, indices);
    hide("vision_mask");
  }
  if (decoding.media.contains("audio_mel")) {
    const TensorPtr spectra = given("audio_mel", DType::float32), indices = given("audio_indices");
    const TensorPtr valid = Call::result(b.cast(given("audio_mel_mask")->id, DType::boolean));
    const Shape sounds = b.shape(spectra->id);
    const Dim rows = audio_encoder()->rows(sounds[2]), positions = b.shape(indices->id)[1] / sounds[1];
    if (rows < positions)
      throw bad_input(
          "a sound of {} steps has {} positions, but the audio encoder gives {} rows: its strides and its "
          "reduction_factor are not those of the preprocessor",
          sounds[2], positions, rows);
    x = with_sounds(calls, x, spectra, valid, indices);
    hide("audio_mask");
  }
  return calls.value(through_text(calls, x, own_ids, {{"positions", Call::result(decoding.positions)}}));
}

bool Gemma4Backbone::is_global(std::int64_t i) const { return layer_types_[static_cast<std::size_t>(i)] == kFull; }

std::optional<std::int64_t> Gemma4Backbone::source_of(std::int64_t i) const {
  const std::int64_t own = num_layers - num_kv_shared_layers;
  if (i < own) return std::nullopt;
  for (std::int64_t j = own - 1; j >= 0; --j)
    if (is_global(j) == is_global(i)) return j;
  return std::nullopt;
}

Json Gemma4Backbone::block_arguments(std::int64_t i) const {
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

}  // namespace attn::keras
