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

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "dinov2", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::dinov2
