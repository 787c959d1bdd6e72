// DINOv2 (keras_hub/src/models/dinov2).
//
// Letters: B batch, P patches and the tokens in front of them, D width.
#include <array>
#include <cstdint>
#include <utility>

#include "classes/ops/expression.h"
#include "families/blocks/images/dino_blocks.h"
#include "families/model_family.h"

namespace attn::keras::dinov2 {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.dinov2.dinov2_layers";
constexpr double kEpsilon = 1e-6;

/// (B,H,W,C) → (B,P,D): the class token, registers and patches. The token and the patches have position embeddings.
///
/// KerasHub keeps the position embeddings for the images that the model was trained with, and those for its own images,
/// which it interpolates whenever it loads a file. A file has both.
class DINOV2Embedding final : public DinoEmbedding {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("patch_size", patch_size);
    f.required("image_shape", image_shape);
    f("num_register_tokens", num_register_tokens);
    f("use_mask_token", use_mask_token);
    f("dropout_rate", dropout_rate);
    f("position_embedding_shape", position_embedding_shape);
    f("antialias_in_interpolation", antialias_in_interpolation);
  }
  void check(const Ref& config) override {
    const auto patches = [&](const char* key, const Window& shape) {
      return checked_patches(config, key, shape.items[0] / patch_size, shape.items[1] / patch_size);
    };
    patches_ = patches("image_shape", image_shape);
    trained_patches_ = patches("position_embedding_shape", position_embedding_shape);
  }

  void build(Weights& w, Call&) override {
    add_tokens(w, {1, hidden_dim}, Initializer("zeros").value);
    position_ = w.add("interpolated_position_embeddings", {1, patches_ + 1, hidden_dim}, Initializer("zeros"));
    // Variables that are not trained come last.
    w.add("position_embeddings", {1, trained_patches_ + 1, hidden_dim}, normal_numbers("truncated_normal", 0.02),
          false);
    make_patches();
    dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", dropout_rate.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const ValueId x = call.builder().binary(graph::BinaryFn::add, with_class_token(call), call.weight(position_));
    return apply(call, *dropout_, {Call::result(with_registers(call, x))});
  }

 private:
  Window image_shape{{1, 1}}, position_embedding_shape{{518, 518}};
  bool antialias_in_interpolation = false;
  Number dropout_rate = 0.0;
  std::int64_t patches_ = 0, trained_patches_ = 0;
  int position_ = 0;
  Layer* dropout_ = nullptr;
};

/// The constructor arguments that a block and the encoder have in common.
struct Options {
  Positive hidden_dim, num_heads, intermediate_dim;
  Number layer_scale_init_value = 1.0, dropout_rate = 0.0, drop_path_rate = 0.0;
  bool use_swiglu_ffn = false;

  void fields(Fields& f) {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("layer_scale_init_value", layer_scale_init_value);
    f("use_swiglu_ffn", use_swiglu_ffn);
    f("dropout_rate", dropout_rate);
    f("drop_path_rate", drop_path_rate);
  }
  void check(const Ref& config) const {
    check_heads(config, "num_heads", hidden_dim, num_heads);
    check_rate(config, "dropout_rate", dropout_rate);
    check_rate(config, "drop_path_rate", drop_path_rate);
  }
};

class DINOV2Layer final : public DinoLayer {
 public:
  void fields(Fields& f) override { options.fields(f); }
  void check(const Ref& config) override { options.check(config); }

  void build(Weights&, Call& call) override {
    expect_width(call, options.hidden_dim);
    const std::int64_t width = options.hidden_dim;
    const Json dropout = {{"rate", options.dropout_rate.value}};
    const auto attention = [&] {
      attention_ = &make_heads("attention/attention", "attention/attention", options.num_heads, width,
                               {{"dropout", options.dropout_rate.value}});
      dropout_ = &make("Dropout", "attention/dropout", "attention/dropout", dropout);
    };
    const auto dense = [&](const char* called, std::int64_t units, const char* function) {
      feed_.push_back(&make("Dense", called, called,
                            {{"units", units},
                             {"activation", function},
                             {"kernel_initializer", normal_initializer("TruncatedNormal", 0.02)}}));
    };
    const auto feed = [&] {
      if (options.use_swiglu_ffn) {
        dense("mlp/weights_in", 2 * gated_width(), "linear");
        dense("mlp/weights_out", width, "linear");
      } else {
        dense("mlp/fc1", options.intermediate_dim, "gelu");
        dense("mlp/fc2", width, "linear");
      }
    };
    make_parts(width, kEpsilon, {"DINOV2LayerScale", options.layer_scale_init_value, options.drop_path_rate}, attention,
               feed);
  }

 private:
  /// Two thirds of the width of an ungated block, in steps of eight.
  [[nodiscard]] std::int64_t gated_width() const {
    return (static_cast<std::int64_t>(static_cast<double>(options.intermediate_dim * 2) / 3) + 7) / 8 * 8;
  }
  TensorPtr attended(Call& call, const TensorPtr& x) override {
    return scaled(call, *scale_1_, apply(call, *dropout_, {DinoLayer::attended(call, x)}));
  }
  TensorPtr fed(Call& call, const TensorPtr& x) override {
    if (!options.use_swiglu_ffn) return scaled(call, *scale_2_, DinoLayer::fed(call, x));
    Builder& b = call.builder();
    const ValueId both = apply(call, *feed_[0], {x})->id;
    const auto half = [&](std::int64_t start) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {start, start + gated_width(), 1}};
      return Expression(b, b.apply(slice, {both}));
    };
    const Expression gated = half(0).unary(graph::UnaryFn::silu) * half(gated_width());
    return scaled(call, *scale_2_, apply(call, *feed_[1], {Call::result(gated)}));
  }

  Options options;
  Layer* dropout_ = nullptr;
};

class DINOV2Encoder final : public DinoEncoder {
 public:
  void fields(Fields& f) override {
    f.required("num_layers", num_layers);
    options.fields(f);
  }
  void check(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    options.check(config);
  }
  void build(Weights&, Call&) override { make_blocks("DINOV2Layer", num_layers, arguments_of(options)); }

 private:
  Positive num_layers;
  Options options;
};

class DINOV2Backbone final : public PyramidBackbone {
 public:
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    f.required("num_layers", num_layers);
    f.required("hidden_dim", options.hidden_dim);
    f.required("num_heads", options.num_heads);
    f.required("intermediate_dim", options.intermediate_dim);
    f("layer_scale_init_value", options.layer_scale_init_value);
    f("num_register_tokens", num_register_tokens);
    f("use_mask_token", use_mask_token);
    f("use_swiglu_ffn", options.use_swiglu_ffn);
    f("dropout_rate", options.dropout_rate);
    f("drop_path_rate", options.drop_path_rate);
    f("image_shape", image_shape);
    f("position_embedding_shape", position_embedding_shape);
    f("antialias_in_interpolation", antialias_in_interpolation);
    f("apply_layernorm", apply_layernorm);
  }
  [[nodiscard]] Arg stage(const Arg& result) override { return apply_layernorm ? call(*norm_, {result}) : result; }

 protected:
  void check_fields(const Ref& config) override {
    ImageBackbone::check_fields(config);
    check_square(config);
    check_blocks(config, "num_layers", num_layers);
    options.check(config);
    check_registers(config, num_register_tokens);
    if (position_embedding_shape.items.size() < 2)
      config["position_embedding_shape"].fail("expected a height and a width");
  }

  void assemble() override {
    const TensorRef image = images("images");
    const std::vector<std::int64_t>& trained = position_embedding_shape.items;
    const TensorRef x = call("DINOV2Embedding", prefixed("embeddings"),
                             {{"hidden_dim", options.hidden_dim.value},
                              {"patch_size", patch_size.value},
                              {"image_shape", {height(), width()}},
                              {"num_register_tokens", num_register_tokens},
                              {"use_mask_token", use_mask_token},
                              {"dropout_rate", options.dropout_rate.value},
                              {"position_embedding_shape", {trained[0], trained[1]}},
                              {"antialias_in_interpolation", antialias_in_interpolation}},
                             {image});
    Json arguments = arguments_of(options);
    arguments["num_layers"] = num_layers.value;
    const TensorRef rows = call("DINOV2Encoder", prefixed("encoder"), std::move(arguments), {x});
    norm_ = &layer("LayerNormalization", prefixed("layernorm"), {{"epsilon", kEpsilon}});
    output_struct = call(*norm_, {rows});
    input_struct = ArgDict{{"images", image}};
    pyramid.emplace_back("stem", x);
    for (std::int64_t i = 1; i <= num_layers; ++i) {
      const std::string stage = fmt::format("stage{}", i);
      pyramid.emplace_back(stage, TensorRef{rows.layer, rows.node, *stage_result(stage, num_layers)});
    }
  }

 private:
  Positive patch_size, num_layers;
  Options options;
  std::int64_t num_register_tokens = 0;
  bool use_mask_token = true, antialias_in_interpolation = false, apply_layernorm = false;
  Tuple position_embedding_shape{{518, 518, 3}};
  Layer* norm_ = nullptr;
};

constexpr std::array kLayers = {
    ClassInfo{.name = "DINOV2Embedding",
              .make = make_layer<DINOV2Embedding>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::embedding,
              .symbols = "cls_token: - - d_model; mask_token: - d_model; register_tokens: - - d_model;"
                         " interpolated_position_embeddings: - - d_model; position_embeddings: - - d_model"},
    ClassInfo{.name = "DINOV2LayerScale",
              .make = make_layer<DinoLayerScale>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = "lambda1: d_model"},
    ClassInfo{.name = "DINOV2Layer",
              .make = make_layer<DINOV2Layer>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    ClassInfo{.name = "DINOV2Encoder",
              .make = make_layer<DINOV2Encoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<DINOV2Backbone>("DINOV2Backbone", "keras_hub.src.models.dinov2.dinov2_backbone"),
};

constexpr std::string_view kWithRegisters = "dinov2_with_registers";

void sizes(ConfigMap& map, bool registers) {
  map.same("patch_size", "patch_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("hidden_dim", "hidden_size");
  map.same("num_heads", "num_attention_heads");
  if (map.reading()) {
    const std::int64_t width = map.integer("hidden_size"), side = map.integer("image_size", 224);
    constexpr double kMost = 1 << 20;
    const double ratio = map.number("mlp_ratio", 4);
    if (!(ratio > 0) || static_cast<double>(width) * ratio > kMost) {
      const auto given = map.find("mlp_ratio");
      (given ? *given : *map.find("hidden_size")).fail("expected blocks with at least 1 and at most 2^20 features");
    }
    map.put("intermediate_dim", static_cast<std::int64_t>(static_cast<double>(width) * ratio), "mlp_ratio");
    map.put("position_embedding_shape", {side, side, 3}, "image_size");
    map.put("antialias_in_interpolation", registers);
    map.square("image_shape", "image_size", 224);
  } else {
    const auto inner = map.of_keras("intermediate_dim").get<std::int64_t>(),
               width = map.of_keras("hidden_dim").get<std::int64_t>();
    const Json ratio = static_cast<double>(inner) / static_cast<double>(width);
    map.put("mlp_ratio", inner % width == 0 ? Json(inner / width) : ratio);  // transformers wants an integer if it can
    // transformers computes the embeddings of positions for the size of each image from those of this size.
    map.square("position_embedding_shape", "image_size");
  }
  map.fixed("num_channels", {3});
  map.same("layer_scale_init_value", "layerscale_value", 1.0);
  if (registers) map.same("num_register_tokens", "num_register_tokens", 4);
  map.same("use_mask_token", "use_mask_token", true);
  map.same("use_swiglu_ffn", "use_swiglu_ffn", false);
  map.same("dropout_rate", "hidden_dropout_prob", 0.0);
  map.same("drop_path_rate", "drop_path_rate", 0.0);
  map.same("apply_layernorm", "apply_layernorm", false);
  map.fixed("layer_norm_eps", {kEpsilon});
  map.fixed("qkv_bias", {true});
  map.fixed("hidden_act", {"gelu"});
}

void plain_sizes(ConfigMap& map) { sizes(map, false); }
void sizes_with_registers(ConfigMap& map) { sizes(map, true); }
bool has_registers(const Json& config) { return config.at("num_register_tokens") != 0; }
bool has_no_registers(const Json& config) { return !has_registers(config); }

constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "dinov2",
                     .stem = "DINOV2",
                     .architecture = "Dinov2",
                     .sizes = plain_sizes,
                     .heads = {},
                     .is_written = has_no_registers},
    HuggingFaceModel{.model_type = kWithRegisters,
                     .stem = "DINOV2",
                     .architecture = "Dinov2WithRegisters",
                     .sizes = sizes_with_registers,
                     .heads = {},
                     .is_written = has_registers},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 31> kNames{{
    {"*embeddings/cls_token", "embeddings.cls_token", kSame},
    {"*embeddings/mask_token", "embeddings.mask_token", kSame},
    {"*embeddings/register_tokens", "embeddings.register_tokens", kSame},
    {"*embeddings/position_embeddings", "embeddings.position_embeddings", kSame},
    {"*embeddings/interpolated_position_embeddings", "embeddings.position_embeddings", kSame, false, 0, "", "", true},
    {"*embeddings/patch_embeddings/projection/kernel", "embeddings.patch_embeddings.projection.weight", kConvolution},
    {"*embeddings/patch_embeddings/projection/bias", "embeddings.patch_embeddings.projection.bias", kSame},
    {"*encoder/layers_{}/norm1/gamma", "encoder.layer.{}.norm1.weight", kSame},
    {"*encoder/layers_{}/norm1/beta", "encoder.layer.{}.norm1.bias", kSame},
    {"*encoder/layers_{}/attention/attention/query/kernel", "encoder.layer.{}.attention.attention.query.weight",
     kLinear},
    {"*encoder/layers_{}/attention/attention/query/bias", "encoder.layer.{}.attention.attention.query.bias", kVector},
    {"*encoder/layers_{}/attention/attention/key/kernel", "encoder.layer.{}.attention.attention.key.weight", kLinear},
    {"*encoder/layers_{}/attention/attention/key/bias", "encoder.layer.{}.attention.attention.key.bias", kVector},
    {"*encoder/layers_{}/attention/attention/value/kernel", "encoder.layer.{}.attention.attention.value.weight",
     kLinear},
    {"*encoder/layers_{}/attention/attention/value/bias", "encoder.layer.{}.attention.attention.value.bias", kVector},
    {"*encoder/layers_{}/attention/attention/attention_output/kernel", "encoder.layer.{}.attention.output.dense.weight",
     kFromHeads},
    {"*encoder/layers_{}/attention/attention/attention_output/bias", "encoder.layer.{}.attention.output.dense.bias",
     kSame},
    {"*encoder/layers_{}/layer_scale1/lambda1", "encoder.layer.{}.layer_scale1.lambda1", kSame},
    {"*encoder/layers_{}/norm2/gamma", "encoder.layer.{}.norm2.weight", kSame},
    {"*encoder/layers_{}/norm2/beta", "encoder.layer.{}.norm2.bias", kSame},
    {"*encoder/layers_{}/mlp/fc1/kernel", "encoder.layer.{}.mlp.fc1.weight", kLinear},
    {"*encoder/layers_{}/mlp/fc1/bias", "encoder.layer.{}.mlp.fc1.bias", kSame},
    {"*encoder/layers_{}/mlp/fc2/kernel", "encoder.layer.{}.mlp.fc2.weight", kLinear},
    {"*encoder/layers_{}/mlp/fc2/bias", "encoder.layer.{}.mlp.fc2.bias", kSame},
    {"*encoder/layers_{}/mlp/weights_in/kernel", "encoder.layer.{}.mlp.weights_in.weight", kLinear},
    {"*encoder/layers_{}/mlp/weights_in/bias", "encoder.layer.{}.mlp.weights_in.bias", kSame},
    {"*encoder/layers_{}/mlp/weights_out/kernel", "encoder.layer.{}.mlp.weights_out.weight", kLinear},
    {"*encoder/layers_{}/mlp/weights_out/bias", "encoder.layer.{}.mlp.weights_out.bias", kSame},
    {"*encoder/layers_{}/layer_scale2/lambda1", "encoder.layer.{}.layer_scale2.lambda1", kSame},
    {"*layernorm/gamma", "layernorm.weight", kSame},
    {"*layernorm/beta", "layernorm.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"DINOV2Backbone", "", kNames},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "dinov2",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames};
  return kFamily;
}

}  // namespace attn::keras::dinov2
