#include "families/blocks/decoders/qwen3_5_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "classes/reading.h"

namespace attn::keras {
namespace {

constexpr std::string_view kLinearAttention = "linear_attention", kFullAttention = "full_attention";

}  // namespace

void Qwen3_5Block::fields(Fields& f) {
  f.required("layer_type", layer_type);
  f.required("num_query_heads", num_query_heads);
  f.required("num_key_value_heads", num_key_value_heads);
  family_.fields(f);
  feed_forward_fields(f);
  f("layer_norm_epsilon", layer_norm_epsilon);
  f("kernel_initializer", kernel_initializer);
  f("dropout", dropout);
}

void Qwen3_5Block::check(const Ref& config) {
  family_.check(config);
  if (layer_type != kLinearAttention && layer_type != kFullAttention)
    config["layer_type"].fail(fmt::format("expected '{}' or '{}'", kFullAttention, kLinearAttention));
}

std::span<const std::string_view> Qwen3_5Block::arguments() const {
  static constexpr std::array<std::string_view, 7> kNames = {"decoder_sequence",
                                                             "decoder_padding_mask",
                                                             "decoder_attention_mask",
                                                             "self_attention_cache",
                                                             "self_attention_cache_update_index",
                                                             "position_ids",
                                                             "training"};
  return kNames;
}

bool Qwen3_5Block::is_linear() const { return layer_type == kLinearAttention; }

Layer& Qwen3_5Block::make_dense(const std::string& called, std::int64_t units) {
  return make("Dense", called, "_" + called,
              {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
}

void Qwen3_5Block::make_mixer(std::int64_t hidden_dim) {
  if (is_linear()) {
    Json arguments = arguments_of(family_.linear);
    arguments["hidden_size"] = hidden_dim;
    arguments["layer_norm_epsilon"] = layer_norm_epsilon.value;
    arguments["kernel_initializer"] = kernel_initializer.json;
    mixer_ = &make("Qwen3_5GatedDeltaNet", "linear_attn", "_linear_attn", std::move(arguments));
    return;
  }
  const Json window = family_.sliding_window_size ? Json(family_.sliding_window_size->value) : Json();
  mixer_ = &make("Qwen3_5Attention", "self_attention", "_self_attention_layer",
                 {{"num_query_heads", num_query_heads.value},
                  {"num_key_value_heads", num_key_value_heads.value},
                  {"head_dim", family_.head_dim.value},
                  {"partial_rotary_factor", family_.partial_rotary_factor.value},
                  {"rope_max_wavelength", family_.rope_max_wavelength.value},
                  {"rope_scaling_factor", family_.rope_scaling_factor.value},
                  {"kernel_initializer", kernel_initializer.json},
                  {"dropout", dropout.value},
                  {"layer_norm_epsilon", layer_norm_epsilon.value},
                  {"sliding_window_size", window},
                  {"mrope_section", family_.mrope_section ? Json(*family_.mrope_section) : Json()}});
}

void Qwen3_5Block::build(Weights&, Call& call) {
  const std::int64_t hidden_dim = width(call);
  const auto norm = [&](const char* called, const char* attribute) {
    return &make("Qwen3_5LayerNorm", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
  };
  make_mixer(hidden_dim);
  mixer_norm_ = norm("input_layernorm", "_input_layernorm");
  dropped_ = &make("Dropout", "self_attention_dropout", "_self_attention_dropout", {{"rate", dropout.value}});
  make_feed_forward(hidden_dim);
  feed_forward_norm_ = norm("post_attention_layernorm", "_post_attention_layernorm");
}

Arg Qwen3_5Block::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  const TensorPtr in = sequence(call);
  ArgDict how = attending(call, in);
  if (is_linear()) {
    how.clear();
    if (const TensorPtr mask = call.optional_tensor("decoder_padding_mask")) how.emplace_back("attention_mask", mask);
  } else if (const TensorPtr positions = call.optional_tensor("position_ids")) {
    how.emplace_back("position_ids", positions);
  }
  const TensorPtr mixed = apply(call, *mixer_, {apply(call, *mixer_norm_, {in})}, how);
  const TensorPtr x = sum(call, apply(call, *dropped_, {mixed}), in);
  return sum(call, feed_forward(call, apply(call, *feed_forward_norm_, {x})), x);
}

TensorPtr Qwen3_5FeedForward::operator()(Call& call, const TensorPtr& x) const {
  const auto through = [&](Layer& layer, const TensorPtr& y) {
    return *call.lowering().apply(layer, ArgList{y}, ArgDict{}).as<TensorPtr>();
  };
  const graph::ValueId gated = activated(call, activation, through(*gate, x));
  const graph::ValueId wide = through(*up, x)->id;
  return through(*down, Call::result(call.builder().binary(graph::BinaryFn::multiply, wide, gated)));
}

void Qwen3_5Stack::fields(Fields& f) {
  sizes(f);
  f.required("head_dim", family_.head_dim);
  feed_forward_fields(f);
  layer_types(f);
  f("partial_rotary_factor", family_.partial_rotary_factor);
  f("rope_max_wavelength", family_.rope_max_wavelength);
  f("rope_scaling_factor", family_.rope_scaling_factor);
  f.required("num_key_value_heads", num_key_value_heads);
  f("layer_norm_epsilon", layer_norm_epsilon);
  f("dropout", dropout);
  f("tie_word_embeddings", tie_word_embeddings);
  f("sliding_window_size", family_.sliding_window_size);
  family_.linear.fields(f);
  f("mrope_section", family_.mrope_section);
  last_fields(f);
  if (const auto given = f.reading() ? f.take("vision_encoder") : std::nullopt; !given || !given->is_null())
    f("vision_encoder", vision_encoder_);
}

void Qwen3_5Stack::check_fields(const Ref& config) {
  GroupedBackbone::check_fields(config);
  family_.check(config);
  if (vision_encoder_ != nullptr && encoder() == nullptr)
    config["vision_encoder"].fail(
        fmt::format("expected a Qwen3_5VisionEncoder, not a {}", vision_encoder_->class_name()));
  if (encoder() != nullptr && encoder()->features() != hidden_dim)
    config["vision_encoder"].fail(fmt::format("the encoder gives {} features, and the text model has {}",
                                              encoder()->features(), hidden_dim.value));
  if (std::ssize(layer_types_) != num_layers)
    config["layer_types"].fail(fmt::format("{} types for {} layers", layer_types_.size(), num_layers.value));
}

void Qwen3_5Stack::assemble_stack(std::string_view block_class, const Json& further) {
  assemble_blocks(family_, tie_word_embeddings, block_class, "Qwen3_5LayerNorm", [&](std::int64_t i) {
    Json arguments = further;
    arguments["layer_type"] = layer_types_[static_cast<std::size_t>(i)];
    return arguments;
  });
}

std::optional<Dim> Qwen3_5Stack::default_size(std::string_view input, int axis) const {
  const bool is_of_images = input == "pixel_values" || input == "image_grid_thw" || input == "vision_indices";
  return is_of_images && axis == 1 ? std::optional<Dim>(0) : std::nullopt;
}

std::optional<ArrayFault> Qwen3_5Stack::array_fault(const std::map<std::string, Tensor>& arrays) const {
  const auto grids = arrays.find("image_grid_thw"), patches = arrays.find("pixel_values");
  if (encoder() == nullptr || grids == arrays.end() || patches == arrays.end()) return std::nullopt;
  const Tensor& grid = grids->second;
  const Shape& given = patches->second.shape();
  if (grid.shape().rank() != 3 || grid.shape().back() != 3 || given.rank() != 6) return std::nullopt;
  const auto fault = [&](std::string what) { return ArrayFault{grids->first, std::move(what)}; };
  const auto merge = static_cast<double>(encoder()->merge_size());
  double count = 0.0;
  for (std::int64_t i = 0; i < grid.size(); i += 3) {
    const double frames = grid.at(i), rows = grid.at(i + 1), columns = grid.at(i + 2);
    const bool is_grid = frames >= 0.0 && rows >= 0.0 && columns >= 0.0 && std::fmod(rows, merge) == 0.0 &&
                         std::fmod(columns, merge) == 0.0;
    if (!is_grid)
      return fault(fmt::format("has the grid ({}, {}, {}): give frames, and rows and columns that are multiples of {}",
                               frames, rows, columns, merge));
    count += frames * rows * columns;
  }
  const Dim all = given[0] * given[1];
  if (count == static_cast<double>(all)) return std::nullopt;
  return fault(
      fmt::format("has grids of {} patches, but 'pixel_values' has {}: give a grid of frames, rows and columns "
                  "for each image",
                  count, all));
}

TensorRef Qwen3_5Stack::with_images(const TensorRef& texts, std::vector<TensorRef>& inputs) {
  if (encoder() == nullptr) return texts;
  borrow(*vision_encoder_);
  Layer& interleave = layer("Qwen3_5InterleaveEmbeddings", "interleave_embeddings", {{"hidden_dim", hidden_dim.value}});
  Shape patches{kUnknown, kUnknown};
  patches.append(encoder()->patch_shape());
  const TensorRef pixels = input("pixel_values", patches, DType::float32),
                  grids = input("image_grid_thw", {kUnknown, kUnknown, 3}, DType::int32),
                  indices = tokens("vision_indices");
  inputs.insert(inputs.end(), {pixels, grids, indices});
  return call(interleave, {},
              {{"image_embeddings", call(*vision_encoder_, {pixels, grids})},
               {"text_embeddings", texts},
               {"vision_indices", indices}});
}

std::vector<MediaPrompt> Qwen3_5CausalLM::media_prompts() const {
  constexpr std::string_view kImage = "<|image_pad|>";
  const Qwen3_5VisionEncoder* const encoder = stack().encoder();
  if (encoder == nullptr) return {};
  MediaPrompt images{.input = "pixel_values", .shape = {kUnknown}, .merge = encoder->merge_size()};
  images.shape.append(encoder->patch_shape());
  images.mark = images.placeholder = kImage;
  images.cuts_text = true;
  return {images};
}

graph::ValueId Qwen3_5CausalLM::encode_image(Lowering& lowering, graph::ValueId pixel_values, const PatchGrid& grid) {
  Tensor grids(DType::int32, {1, 3});
  grids.set(0, 1);
  grids.set(1, static_cast<double>(grid.rows));
  grids.set(2, static_cast<double>(grid.columns));
  const graph::ValueId given = lowering.builder().constant(std::move(grids));
  const Arg rows =
      lowering.apply(*stack().encoder(), ArgList{Call::result(pixel_values), Call::result(given)}, ArgDict{});
  return (*rows.as<TensorPtr>())->id;
}

graph::ValueId Qwen3_5CausalLM::hidden_states(Lowering& lowering, const ScoreInputs& texts) {
  const auto applied = [&](const std::string& called, ArgList args, ArgDict how = {}) {
    return *lowering.apply(*backbone().find(called), std::move(args), std::move(how)).as<TensorPtr>();
  };
  TensorPtr x = applied("token_embedding", {Call::result(texts.token_ids)});
  ArgDict how;
  if (texts.padding_mask != graph::kNone) how.emplace_back("decoder_padding_mask", Call::result(texts.padding_mask));
  if (texts.image_embeddings != graph::kNone) {
    x = applied("interleave_embeddings", {},
                {{"image_embeddings", Call::result(texts.image_embeddings)},
                 {"text_embeddings", x},
                 {"vision_indices", Call::result(texts.vision_indices)}});
    how.emplace_back("position_ids", Call::result(texts.position_ids));
  }
  for (std::int64_t i = 0; i < stack().blocks(); ++i) x = applied(fmt::format("transformer_layer_{}", i), {x}, how);
  return applied("sequence_output_layernorm", {x})->id;
}

graph::ValueId Qwen3_5CausalLM::score(Lowering& lowering, const ScoreInputs& texts) {
  return answered(lowering, hidden_states(lowering, texts), true).logits;
}

Decoded Qwen3_5CausalLM::decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) {
  ScoreInputs texts;
  texts.token_ids = token_ids;
  return answered(lowering, hidden_states(lowering, texts), every_position);
}

/// Without types, every fourth layer has full attention.
void Qwen3_5Stack::layer_types(Fields& f) {
  const bool is_given = !f.reading() || [&] {
    const auto given = f.config().find("layer_types");
    return given && !given->json().is_null();
  }();
  if (is_given) return f("layer_types", layer_types_);
  (void)f.take("layer_types");
  for (std::int64_t i = 1; i <= std::min<std::int64_t>(num_layers, kMaxBlocks); ++i)
    layer_types_.emplace_back(i % 4 == 0 ? kFullAttention : kLinearAttention);
}

}  // namespace attn::keras
