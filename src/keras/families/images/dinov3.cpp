// DINOv3 (keras_hub/src/models/dinov3).
//
// Letters: B batch, P patches, T patches and the tokens in front of them, D width, H head size.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "classes/layers/attention/rotary.h"
#include "classes/layers/preprocessing/table.h"
#include "families/blocks/images/dino_blocks.h"
#include "families/model_family.h"

namespace attn::keras::dinov3 {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.dinov3.dinov3_layers";

/// (B,H,W,C) → (B,T,D): the class token, registers and patches.
class DINOV3Embedding final : public DinoEmbedding {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("patch_size", patch_size);
    f("num_register_tokens", num_register_tokens);
    f("use_mask_token", use_mask_token);
    f("initializer_range", initializer_range);
  }
  void build(Weights& w, Call&) override {
    add_tokens(w, {1, 1, hidden_dim}, normal_numbers("truncated_normal", initializer_range));
    make_patches();
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    return Call::result(with_registers(call, with_class_token(call)));
  }

 private:
  Number initializer_range = 0.02;
};

/// Cosines and sines (P,H) of the patches' places in an image: a half of the angles are those of the row, the others
/// those of the column.
class DINOV3RopePositionEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("rope_theta", rope_theta);
    f.required("patch_size", patch_size);
  }
  void check(const Ref& config) override {
    if (head_size() == 0 || head_size() % 4 != 0 || hidden_dim % num_heads != 0)
      config["num_heads"].fail(
          fmt::format("{} features cannot be divided among {} heads and into pairs of rows and columns",
                      hidden_dim.value, num_heads.value));
    check_turning(head_size());
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Shape images = call.shape("inputs");
    const Dim rows = images[1] / patch_size, columns = images[2] / patch_size;
    const Shape shape{rows * columns, head_size()};
    const DType dtype = call.compute_dtype();
    Tensor cosines = table(dtype, shape, "the angles of patches"), sines(dtype, shape);
    for (Dim p = 0; p < rows * columns; ++p)
      for (Dim i = 0; i < head_size(); ++i) {
        const double turn = angle(p / columns, rows, p % columns, columns, i % (head_size() / 2));
        cosines.set(p * head_size() + i, std::cos(turn));
        sines.set(p * head_size() + i, std::sin(turn));
      }
    const auto constant = [&](Tensor& tensor) { return Call::result(b.constant(std::move(tensor))); };
    return ArgList{constant(cosines), constant(sines)};
  }

 private:
  [[nodiscard]] Dim head_size() const { return hidden_dim / num_heads; }
  /// Returns the angle of a patch for one of the H/2 pairs of features. Places are from −1 to 1.
  [[nodiscard]] double angle(Dim row, Dim rows, Dim column, Dim columns, Dim pair) const {
    const Dim each = head_size() / 4;
    const auto place = [](Dim at, Dim of) {
      return 2.0 * (static_cast<double>(at) + 0.5) / static_cast<double>(of) - 1.0;
    };
    const double at = pair < each ? place(row, rows) : place(column, columns);
    const double exponent = static_cast<double>(pair % each) / static_cast<double>(each);
    return 2.0 * std::numbers::pi * at / std::pow(rope_theta.value, exponent);
  }

  Positive hidden_dim, num_heads, patch_size;
  Number rope_theta = 100.0;
};

/// The constructor arguments that a block and the encoder have in common.
struct Options {
  Positive hidden_dim, num_heads, intermediate_dim;
  Number layer_scale_init_value = 1.0, attention_dropout = 0.0, drop_path_rate = 0.0, layer_norm_eps = 1e-5;
  Activation hidden_activation = *Activation::named("gelu");
  bool use_gated_mlp = false, use_query_bias = true, use_key_bias = true, use_value_bias = true, use_proj_bias = true,
       use_mlp_bias = true;

  void fields(Fields& f) {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("layer_scale_init_value", layer_scale_init_value);
    further_fields(f);
  }
  void further_fields(Fields& f) {
    f("hidden_activation", hidden_activation);
    f("use_gated_mlp", use_gated_mlp);
    f("use_query_bias", use_query_bias);
    f("use_key_bias", use_key_bias);
    f("use_value_bias", use_value_bias);
    f("use_proj_bias", use_proj_bias);
    f("use_mlp_bias", use_mlp_bias);
    f("attention_dropout", attention_dropout);
    f("drop_path_rate", drop_path_rate);
    f("layer_norm_eps", layer_norm_eps);
  }
  void check(const Ref& config) const {
    check_heads(config, "num_heads", hidden_dim, num_heads);
    check_rate(config, "attention_dropout", attention_dropout);
    check_rate(config, "drop_path_rate", drop_path_rate);
  }
};

constexpr std::array<std::string_view, 3> kArguments = {"inputs", "position_embeddings", "num_prefix_tokens"};

class DINOV3Layer final : public DinoLayer {
 public:
  void fields(Fields& f) override { options.fields(f); }
  void check(const Ref& config) override { options.check(config); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kArguments; }
  [[nodiscard]] std::optional<Heads> heads() const override {
    return Heads{options.num_heads, options.hidden_dim / options.num_heads};
  }

  void build(Weights&, Call& call) override {
    expect_width(call, options.hidden_dim);
    const auto dense = [&](const char* called, const char* attribute, std::int64_t units, bool biased,
                           const Json& function = "linear") {
      return &make("Dense", called, attribute, {{"units", units}, {"use_bias", biased}, {"activation", function}});
    };
    const std::int64_t width = options.hidden_dim;
    const auto attention = [&] {
      query_ = dense("attention/q_proj", "attention/query_dense", width, options.use_query_bias);
      key_ = dense("attention/k_proj", "attention/key_dense", width, options.use_key_bias);
      value_ = dense("attention/v_proj", "attention/value_dense", width, options.use_value_bias);
      output_ = dense("attention/o_proj", "attention/output_dense", width, options.use_proj_bias);
      dropout_ =
          &make("Dropout", "attention/dropout", "attention/dropout", {{"rate", options.attention_dropout.value}});
    };
    const auto feed = [&] {
      const bool biased = options.use_mlp_bias;
      if (options.use_gated_mlp)
        gate_ =
            dense("mlp/gate_proj", "mlp/gate_proj", options.intermediate_dim, biased, options.hidden_activation.json);
      up_ = dense("mlp/up_proj", "mlp/up_proj", options.intermediate_dim, biased,
                  options.use_gated_mlp ? Json("linear") : options.hidden_activation.json);
      down_ = dense("mlp/down_proj", "mlp/down_proj", width, biased);
    };
    make_parts(width, options.layer_norm_eps,
               {"DINOV3LayerScale", options.layer_scale_init_value, options.drop_path_rate}, attention, feed);
  }

 private:
  TensorPtr attended(Call& call, const TensorPtr& x) override {
    Builder& b = call.builder();
    const Shape in = b.shape(x->id);
    const Dim size = options.hidden_dim / options.num_heads;
    // KerasHub's symbolic shapes assume square images. The number of rows is then not that of the angles.
    const bool turned_patches = call.has("position_embeddings") && !call.lowering().symbolic();
    const std::optional<Angles> angles = turned_patches ? std::optional(patch_angles(call)) : std::nullopt;
    const auto heads = [&](Layer* projection, bool turns) -> ValueId {
      const ValueId rows = b.reshape(apply(call, *projection, {x})->id, {in[0], in[1], options.num_heads, size});
      return turns && angles ? turned(Expression(b, rows), *angles) : rows;
    };
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size));
    const ValueId query = heads(query_, true), key = heads(key_, true);
    const TensorPtr joined = Call::result(attended_heads(call, query, key, heads(value_, false), how));
    return scaled(call, *scale_1_, apply(call, *output_, {apply(call, *dropout_, {joined})}));
  }
  TensorPtr fed(Call& call, const TensorPtr& x) override {
    TensorPtr up = apply(call, *up_, {x});
    if (gate_ != nullptr) {
      const TensorPtr gate = apply(call, *gate_, {x});
      up = Call::result(call.builder().binary(graph::BinaryFn::multiply, gate->id, up->id));
    }
    return scaled(call, *scale_2_, apply(call, *down_, {up}));
  }

  /// Returns the angles (1,T,1,H): those of the patches, and none for the tokens in front of them.
  [[nodiscard]] static Angles patch_angles(Call& call) {
    Builder& b = call.builder();
    const auto* count = call.arg("num_prefix_tokens").as<std::int64_t>();
    const std::vector<TensorPtr> given = tensors_of(call.arg("position_embeddings"));
    const auto behind_tokens = [&](std::size_t which, double value) {
      const ValueId patches = given.at(which)->id;
      const ValueId tokens =
          b.apply(graph::Fill{{count == nullptr ? 0 : *count, b.shape(patches)[1]}, b.dtype(patches), value}, {});
      return b.expand_dims(b.expand_dims(b.apply(graph::Concat{0}, {tokens, patches}), 0), 2);
    };
    return {behind_tokens(0, 1.0), behind_tokens(1, 0.0)};
  }

  Options options;
  Layer* query_ = nullptr;
  Layer* key_ = nullptr;
  Layer* value_ = nullptr;
  Layer* output_ = nullptr;
  Layer* dropout_ = nullptr;
  Layer* gate_ = nullptr;
  Layer* up_ = nullptr;
  Layer* down_ = nullptr;
};

class DINOV3Encoder final : public DinoEncoder {
 public:
  void fields(Fields& f) override {
    f.required("num_layers", num_layers);
    options.fields(f);
  }
  void check(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    options.check(config);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kArguments; }

  void build(Weights&, Call&) override {
    Json arguments = arguments_of(options);
    const auto last = static_cast<double>(num_layers > 1 ? num_layers - 1 : 1);
    for (std::int64_t i = 0; i < num_layers; ++i) {
      arguments["drop_path_rate"] = options.drop_path_rate * static_cast<double>(i) / last;
      make_block("DINOV3Layer", i, arguments);
    }
  }

 private:
  ArgDict block_arguments(Call& call) override {
    ArgDict out;
    for (const char* key : {"position_embeddings", "num_prefix_tokens"})
      if (call.has(key)) out.emplace_back(key, call.arg(key));
    return out;
  }

  Positive num_layers;
  Options options;
};

class DINOV3Backbone final : public ImageBackbone {
 public:
  DINOV3Backbone() { image_shape = {{518, 518, 3}}; }
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    f.required("num_layers", num_layers);
    f.required("hidden_dim", options.hidden_dim);
    f.required("num_heads", options.num_heads);
    f.required("intermediate_dim", options.intermediate_dim);
    f("num_register_tokens", num_register_tokens);
    f("use_mask_token", use_mask_token);
    f("layer_scale_init_value", options.layer_scale_init_value);
    options.further_fields(f);
    f("image_shape", image_shape);
    f("rope_theta", rope_theta);
    f("apply_layernorm", apply_layernorm);
  }

 protected:
  void check_fields(const Ref& config) override {
    ImageBackbone::check_fields(config);
    checked_patches(config, "image_shape", height() / patch_size, width() / patch_size);
    check_blocks(config, "num_layers", num_layers);
    check_registers(config, num_register_tokens);
    options.check(config);
  }

  void assemble() override {
    const TensorRef image = images("pixel_values");
    const TensorRef x = call("DINOV3Embedding", prefixed("embeddings"),
                             {{"hidden_dim", options.hidden_dim.value},
                              {"patch_size", patch_size.value},
                              {"num_register_tokens", num_register_tokens},
                              {"use_mask_token", use_mask_token}},
                             {image});
    const TensorRef cosines = call("DINOV3RopePositionEmbedding", prefixed("rope_embedding"),
                                   {{"hidden_dim", options.hidden_dim.value},
                                    {"num_heads", options.num_heads.value},
                                    {"rope_theta", rope_theta.value},
                                    {"patch_size", patch_size.value}},
                                   {image});
    const TensorRef sines{cosines.layer, cosines.node, 1};
    Json arguments = arguments_of(options);
    arguments["num_layers"] = num_layers.value;
    const TensorRef rows =
        call("DINOV3Encoder", prefixed("encoder"), std::move(arguments), {x},
             {{"position_embeddings", ArgList{cosines, sines}}, {"num_prefix_tokens", 1 + num_register_tokens}});
    output_struct =
        call("LayerNormalization", prefixed("layernorm"), {{"epsilon", options.layer_norm_eps.value}}, {rows});
    input_struct = ArgDict{{"pixel_values", image}};
  }

 private:
  Positive patch_size, num_layers;
  Options options;
  std::int64_t num_register_tokens = 4;
  bool use_mask_token = true, apply_layernorm = false;
  Number rope_theta = 100.0;
};

constexpr std::array kLayers = {
    ClassInfo{.name = "DINOV3Embedding",
              .make = make_layer<DINOV3Embedding>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::embedding,
              .symbols = "cls_token: - - d_model; mask_token: - - d_model; register_tokens: - - d_model"},
    ClassInfo{.name = "DINOV3RopePositionEmbedding",
              .make = make_layer<DINOV3RopePositionEmbedding>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::embedding,
              .no_params = "its angles follow from the places of the patches"},
    ClassInfo{.name = "DINOV3LayerScale",
              .make = make_layer<DinoLayerScale>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = "lambda1: d_model"},
    ClassInfo{.name = "DINOV3Layer",
              .make = make_layer<DINOV3Layer>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    ClassInfo{.name = "DINOV3Encoder",
              .make = make_layer<DINOV3Encoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<DINOV3Backbone>("DINOV3Backbone", "keras_hub.src.models.dinov3.dinov3_backbone"),
};

void sizes(ConfigMap& map) {
  map.same("patch_size", "patch_size", 16);
  map.same("num_layers", "num_hidden_layers");
  map.same("hidden_dim", "hidden_size");
  map.same("num_heads", "num_attention_heads");
  map.same("intermediate_dim", "intermediate_size");
  map.same("layer_scale_init_value", "layerscale_value", 1.0);
  map.same("num_register_tokens", "num_register_tokens", 0);
  if (map.reading()) {
    map.put("use_mask_token", true);
    map.put("apply_layernorm", false);
  } else if (!map.of_keras("use_mask_token").get<bool>()) {
    throw bad_input("a DINOv3 without a mask token cannot be written as a Hugging Face folder");
  }
  map.same("hidden_activation", "hidden_act", "gelu");
  map.same("use_gated_mlp", "use_gated_mlp", false);
  map.same("use_query_bias", "query_bias", true);
  map.same("use_key_bias", "key_bias", false);
  map.same("use_value_bias", "value_bias", true);
  map.same("use_proj_bias", "proj_bias", true);
  map.same("use_mlp_bias", "mlp_bias", true);
  map.same("attention_dropout", "attention_dropout", 0.0);
  map.same("drop_path_rate", "drop_path_rate", 0.0);
  map.same("layer_norm_eps", "layer_norm_eps", 1e-5);
  map.square("image_shape", "image_size", 224);
  map.fixed("num_channels", {3});
  const auto rope = map.reading() ? map.find("rope_parameters") : std::nullopt;
  const auto theta = rope && rope->is_object() ? rope->find("rope_theta") : std::nullopt;
  if (theta) {
    map.put("rope_theta", theta->json(), "rope_parameters");
  } else {
    map.same("rope_theta", "rope_theta", 100.0);
  }
}

constexpr std::array kHuggingFace = {
    HuggingFaceModel{
        .model_type = "dinov3_vit", .stem = "DINOV3", .architecture = "DINOv3ViT", .sizes = sizes, .heads = {}},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 27> kNames{{
    {"*embeddings/cls_token", "embeddings.cls_token", kSame},
    {"*embeddings/mask_token", "embeddings.mask_token", kSame},
    {"*embeddings/register_tokens", "embeddings.register_tokens", kSame},
    {"*embeddings/patch_embeddings/projection/kernel", "embeddings.patch_embeddings.weight", kConvolution},
    {"*embeddings/patch_embeddings/projection/bias", "embeddings.patch_embeddings.bias", kSame},
    {"*encoder/layers_{}/norm1/gamma", "layer.{}.norm1.weight", kSame},
    {"*encoder/layers_{}/norm1/beta", "layer.{}.norm1.bias", kSame},
    {"*encoder/layers_{}/attention/q_proj/kernel", "layer.{}.attention.q_proj.weight", kLinear},
    {"*encoder/layers_{}/attention/q_proj/bias", "layer.{}.attention.q_proj.bias", kSame},
    {"*encoder/layers_{}/attention/k_proj/kernel", "layer.{}.attention.k_proj.weight", kLinear},
    {"*encoder/layers_{}/attention/k_proj/bias", "layer.{}.attention.k_proj.bias", kSame},
    {"*encoder/layers_{}/attention/v_proj/kernel", "layer.{}.attention.v_proj.weight", kLinear},
    {"*encoder/layers_{}/attention/v_proj/bias", "layer.{}.attention.v_proj.bias", kSame},
    {"*encoder/layers_{}/attention/o_proj/kernel", "layer.{}.attention.o_proj.weight", kLinear},
    {"*encoder/layers_{}/attention/o_proj/bias", "layer.{}.attention.o_proj.bias", kSame},
    {"*encoder/layers_{}/layer_scale1/lambda1", "layer.{}.layer_scale1.lambda1", kSame},
    {"*encoder/layers_{}/norm2/gamma", "layer.{}.norm2.weight", kSame},
    {"*encoder/layers_{}/norm2/beta", "layer.{}.norm2.bias", kSame},
    {"*encoder/layers_{}/mlp/gate_proj/kernel", "layer.{}.mlp.gate_proj.weight", kLinear},
    {"*encoder/layers_{}/mlp/gate_proj/bias", "layer.{}.mlp.gate_proj.bias", kSame},
    {"*encoder/layers_{}/mlp/up_proj/kernel", "layer.{}.mlp.up_proj.weight", kLinear},
    {"*encoder/layers_{}/mlp/up_proj/bias", "layer.{}.mlp.up_proj.bias", kSame},
    {"*encoder/layers_{}/mlp/down_proj/kernel", "layer.{}.mlp.down_proj.weight", kLinear},
    {"*encoder/layers_{}/mlp/down_proj/bias", "layer.{}.mlp.down_proj.bias", kSame},
    {"*encoder/layers_{}/layer_scale2/lambda1", "layer.{}.layer_scale2.lambda1", kSame},
    {"*layernorm/gamma", "norm.weight", kSame},
    {"*layernorm/beta", "norm.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"DINOV3Backbone", "", kNames},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "dinov3",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames};
  return kFamily;
}

}  // namespace attn::keras::dinov3
