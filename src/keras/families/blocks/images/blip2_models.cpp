#include "families/blocks/images/blip2_models.h"

#include <utility>

#include "classes/composite.h"
#include "classes/reading.h"
#include "families/blocks/images/blip2_layers.h"
#include "families/blocks/images/vision_blocks.h"
#include "model/model_lowering.h"

namespace attn::keras {
namespace {

constexpr const char* kQueryFeatures = "qformer_features";

void check_head_width(const Ref& config, std::int64_t width, std::int64_t heads) {
  if (width < heads) config["num_heads"].fail(fmt::format("{} features are too few for {} heads", width, heads));
}

/// Reads or writes a layer that the constructor makes if its argument is null.
void layer_field(Fields& f, const char* key, LayerPtr& layer) {
  if (!f.reading()) {
    f(key, layer);
  } else if (const auto given = f.take(key); given && !given->is_null()) {
    given->document().attempt([&] { layer = read_layer(*given, f.warnings()); });
  }
}

}  // namespace

void Blip2VisionEncoder::fields(Fields& f) {
  f.required("image_size", image_size);
  f.required("patch_size", patch_size);
  f.required("num_layers", num_layers);
  f.required("num_heads", num_heads);
  f.required("hidden_dim", hidden_dim);
  f.required("intermediate_dim", intermediate_dim);
  f.required("use_patch_bias", use_patch_bias);
  f.required("use_class_token", use_class_token);
  f.required("use_mha_bias", use_mha_bias);
  f.required("use_mlp_bias", use_mlp_bias);
  f.required("dropout_rate", dropout_rate);
  f.required("layer_norm_epsilon", layer_norm_epsilon);
  f.required("initializer_range", initializer_range);
}

void Blip2VisionEncoder::check_fields(const Ref& config) {
  check_head_width(config, hidden_dim, num_heads);
  check_blocks(config, "num_layers", num_layers);
  check_rate(config, "dropout_rate", dropout_rate);
  checked_patches(config, "image_size", height() / patch_size.items[0], width() / patch_size.items[1]);
}

void Blip2VisionEncoder::assemble() {
  const TensorRef images = input("images", {kUnknown, height(), width(), 3}, DType::float32);
  const TensorRef patches = call("ViTPatchingAndEmbedding", "patching_and_embedding",
                                 {{"image_size", image_size.items},
                                  {"patch_size", patch_size.items},
                                  {"hidden_dim", hidden_dim.value},
                                  {"use_class_token", use_class_token},
                                  {"use_patch_bias", use_patch_bias}},
                                 {images});
  input_struct = images;
  output_struct = call("ViTEncoder", "encoder",
                       {{"num_layers", num_layers.value},
                        {"num_heads", num_heads.value},
                        {"hidden_dim", hidden_dim.value},
                        {"mlp_dim", intermediate_dim.value},
                        {"dropout_rate", dropout_rate.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value},
                        {"use_mha_bias", use_mha_bias},
                        {"use_mlp_bias", use_mlp_bias}},
                       {patches});
}

void Blip2QFormer::fields(Fields& f) {
  f.required("num_query_tokens", num_query_tokens);
  f.required("num_layers", num_layers);
  f.required("num_heads", num_heads);
  f.required("hidden_dim", hidden_dim);
  f.required("intermediate_dim", intermediate_dim);
  f.required("vision_dim", vision_dim);
  f.required("cross_attention_frequency", cross_attention_frequency);
  f.required("dropout", dropout);
  f.required("layer_norm_epsilon", layer_norm_epsilon);
}

void Blip2QFormer::check_fields(const Ref& config) {
  check_head_width(config, hidden_dim, num_heads);
  check_blocks(config, "num_layers", num_layers);
  check_rate(config, "dropout", dropout);
}

void Blip2QFormer::assemble() {
  const TensorRef patches = input("vision_features", {kUnknown, kUnknown, vision_dim}, DType::float32);
  TensorRef x = call("BLIP2QueryTokens", "query_tokens_layer",
                     {{"num_query_tokens", num_query_tokens.value}, {"hidden_dim", hidden_dim.value}}, {patches});
  x = call("LayerNormalization", "layer_norm", {{"epsilon", layer_norm_epsilon.value}}, {x});
  x = call("Dropout", "dropout", {{"rate", dropout.value}}, {x});
  for (std::int64_t i = 0; i < num_layers; ++i)
    x = call("QFormerLayer", fmt::format("transformer_layer_{}", i),
             {{"has_cross_attention", i % cross_attention_frequency == 0},
              {"num_heads", num_heads.value},
              {"hidden_dim", hidden_dim.value},
              {"intermediate_dim", intermediate_dim.value},
              {"vision_dim", vision_dim.value},
              {"layer_norm_epsilon", layer_norm_epsilon.value},
              {"dropout", dropout.value}},
             {Arg(ArgList{x, patches})});
  input_struct = patches;
  output_struct = x;
}

void Blip2Queries::check(const Ref& config) const {
  if (count < 0 || count > kMaxSize) config["num_query_tokens"].fail("expected the number of query tokens");
}

void Blip2Opt::fields(Fields& f) {
  f.required("vocabulary_size", vocabulary_size);
  f.required("num_layers", num_layers);
  f.required("num_heads", num_heads);
  f.required("hidden_dim", hidden_dim);
  f.required("intermediate_dim", intermediate_dim);
  f.required("num_query_tokens", queries_.count);
  f.required("dropout", dropout);
  f.required("max_sequence_length", max_sequence_length);
  f.required("qformer_hidden_dim", queries_.features);
  f("initializer_range", initializer_range);
  f("layer_norm_epsilon", layer_norm_epsilon);
  layer_field(f, "language_projection", queries_.projection);
}

void Blip2Opt::check_fields(const Ref& config) {
  HeadedBackbone::check_fields(config);
  queries_.check(config);
  if (queries_.count >= max_sequence_length)
    config["max_sequence_length"].fail(
        fmt::format("{} positions are too few behind {} query tokens", max_sequence_length.value, queries_.count));
  if (queries_.projection == nullptr)
    queries_.projection =
        make_sublayer(*this, "EinsumDense", "language_projection",
                      {{"equation", "btd,df->btf"}, {"output_shape", {nullptr, hidden_dim.value}}, {"bias_axes", "f"}});
}

void Blip2Opt::assemble() {
  const TensorRef token_ids = tokens("token_ids");
  TensorRef mask = tokens("padding_mask");
  std::vector<TensorRef> inputs{token_ids, mask};
  Layer& embeddings = layer("BLIP2OPTEmbeddings", "embeddings_layer",
                            {{"vocabulary_size", vocabulary_size.value},
                             {"hidden_dim", hidden_dim.value},
                             {"max_sequence_length", max_sequence_length.value},
                             {"position_offset", queries_.count + kOptPositionOffset},
                             {"initializer_range", initializer_range.value}});
  TensorRef x;
  if (queries_.count > 0) {
    inputs.push_back(input(kQueryFeatures, {kUnknown, queries_.count, queries_.features}, DType::float32));
    x = behind_queries(embeddings, token_ids, inputs.back());
    mask = mask_behind_queries(inputs.back(), mask);
  } else {
    x = call(embeddings, {token_ids});
  }
  const Json block = {{"intermediate_dim", intermediate_dim.value},
                      {"num_heads", num_heads.value},
                      {"dropout", dropout.value},
                      {"activation", "relu"},
                      {"layer_norm_epsilon", layer_norm_epsilon.value},
                      {"normalize_first", true},
                      {"kernel_initializer", normal_initializer("TruncatedNormal", initializer_range)}};
  set_inputs(inputs);
  output_struct = layer_norm("layer_norm",
                             through_blocks(x, "TransformerDecoder", "transformer_layer", [&](auto) { return block; },
                                            {{"decoder_padding_mask", mask}}),
                             layer_norm_epsilon);
}

TensorRef Blip2Opt::behind_queries(Layer& embeddings, const TensorRef& token_ids, const TensorRef& features) {
  borrow(*queries_.projection);
  const TensorRef projected = call(*queries_.projection, {features});
  const TensorRef texts = call(embeddings, {token_ids}, {{"visual_positions", queries_.count}});
  const TensorRef places{texts.layer, texts.node, 1};
  const TensorRef placed = operation("Add", Json::object(), {projected, places});
  return operation("Concatenate", {{"axis", 1}}, {Arg(ArgList{placed, texts})});
}

TensorRef Blip2Opt::mask_behind_queries(const TensorRef& features, const TensorRef& mask) {
  const auto flags = [&](const TensorRef& x) { return operation("Cast", {{"dtype", "bool"}}, {x}); };
  const TensorRef first = operation("GetItem", Json::object(), {features, ArgList{EllipsisArg{}, std::int64_t{0}}});
  const TensorRef seen = flags(operation("OnesLike", Json::object(), {first}));
  return operation("Concatenate", {{"axis", 1}}, {Arg(ArgList{seen, flags(mask)})});
}

void Blip2FlanT5::fields(Fields& f) {
  f.required("vocabulary_size", vocabulary_size);
  f.required("num_layers", num_layers);
  f.required("num_heads", num_heads);
  f.required("hidden_dim", hidden_dim);
  f.required("intermediate_dim", intermediate_dim);
  f.required("num_query_tokens", queries_.count);
  f.required("qformer_hidden_dim", queries_.features);
  f("key_value_dim", key_value_dim);
  f("dropout", dropout);
  f("layer_norm_epsilon", layer_norm_epsilon);
  layer_field(f, "language_projection", queries_.projection);
  layer_field(f, "lm_head", lm_head_);
}

void Blip2FlanT5::check_fields(const Ref& config) {
  T5Stacks::check_fields(config);
  queries_.check(config);
  if (queries_.projection == nullptr)
    queries_.projection = make_sublayer(*this, "Dense", "language_projection", {{"units", hidden_dim.value}});
  if (lm_head_ == nullptr)
    lm_head_ = make_sublayer(*this, "Dense", "lm_head", {{"units", vocabulary_size.value}, {"use_bias", false}});
}

void Blip2FlanT5::assemble() {
  items = 2;  // KerasHub makes a T5Backbone, and calls its layers anew
  const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask"),
                  decoder_ids = tokens("decoder_token_ids"), decoder_padding = tokens("decoder_padding_mask");
  std::vector<TensorRef> inputs{token_ids, padding_mask, decoder_ids, decoder_padding};
  Layer& rows = token_rows(true);
  TensorRef x = call(rows, {token_ids}), mask = padding_mask;
  if (queries_.count > 0) {
    const TensorRef features = input(kQueryFeatures, {kUnknown, queries_.count, queries_.features}, DType::float32);
    inputs.push_back(features);
    borrow(*queries_.projection);
    const auto join = [&](const TensorRef& front, const TensorRef& back) {
      return operation("Concatenate", {{"axis", 1}}, {Arg(ArgList{front, back})});
    };
    x = join(call(*queries_.projection, {features}), x);
    const TensorRef first = item(features, ArgList{EllipsisArg{}, std::int64_t{0}});
    const TensorRef seen = operation("OnesLike", Json::object(), {first});
    mask = join(operation("Cast", {{"dtype", "int32"}}, {seen}), mask);
  }
  x = dropped_out("encoder_embedding_dropout", x);
  mask = with_query_axis(mask);
  const TensorRef encoded =
      ended("encoder", through("encoder", x, {{"attention_mask", mask}, {"use_causal_mask", false}}));
  x = dropped_out("decoder_embedding_dropout", call(rows, {decoder_ids}));
  const TensorRef decoder_mask = with_query_axis(decoder_padding);
  set_inputs(inputs);
  output_struct = ended("decoder", through("decoder", x,
                                           {{"attention_mask", decoder_mask},
                                            {"encoder_hidden_states", encoded},
                                            {"encoder_attention_mask", mask},
                                            {"use_causal_mask", true}}));
}

void Blip2FlanT5::build_symbolic() {
  T5Stacks::build_symbolic();
  // A head that was built when the model was saved is built again when it is read.
  if (lm_head_->built || !lm_head_->envelope.contains("build_config")) return;
  graph::Graph scratch;
  ModelLowering lowering(scratch, true);
  const graph::ValueId hidden =
      lowering.builder().input("hidden", DType::float32, {kUnknown, kUnknown, hidden_dim.value});
  static_cast<void>(lowering.apply(*lm_head_, ArgList{Call::result(hidden)}, ArgDict{}));
}

std::vector<Layer::Sublayer> Blip2FlanT5::sublayers() {
  std::vector<Sublayer> out = Functional::sublayers();
  if (lm_head_->built) out.push_back({lm_head_.get(), lm_head_->name + "/", "lm_head/"});
  return out;
}

}  // namespace attn::keras
