// The vision transformer (keras_hub/src/models/vit).
//
// Letters: B batch, P patches plus the class token, D width.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "attn/base/size.h"
#include "classes/composite.h"
#include "classes/layers/layers.h"
#include "classes/layers/spatial.h"
#include "families/model_family.h"
#include "model/backbones/backbone.h"
#include "model/tasks/image_classifier.h"

namespace attn::keras::vit {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.vit.vit_layers";

void check_rate(const Ref& config, const char* key, double rate) {
  if (rate < 0.0 || rate > 1.0) config[key].fail("expected a number from 0 to 1, got " + config[key].kind());
}

/// (B,H,W,C) → (B,P,D): a row for the class token and each patch, plus its position embedding.
class ViTPatchingAndEmbedding : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f("num_channels", num_channels);
    if (f.reading()) {
      // num_patches and num_positions are derived from the sizes. KerasHub does not write use_patch_bias and
      // data_format.
      for (const char* key : {"num_patches", "num_positions"}) f.take(key);
      f("use_patch_bias", use_patch_bias);
      format.field(f);
    } else {
      f.put("num_patches", patches());
      f.put("num_positions", positions());
    }
    f("use_class_token", use_class_token);
  }

  void check(const Ref& config) override {
    const auto count =
        checked_mul(image_size.items[0] / patch_size.items[0], image_size.items[1] / patch_size.items[1]);
    if (!count || *count == 0 || *count > kMaxSize - 1)
      config["image_size"].fail(
          fmt::format("{} by {} cannot be divided into patches", image_size.items[0], image_size.items[1]));
  }

  void build(Weights& w, Call& call) override {
    if (use_class_token) w.add("class_token", {1, 1, hidden_dim}, Initializer("random_normal"));
    patch_embedding_ = &make("Conv2D", "patch_embedding", "patch_embedding",
                             {{"filters", hidden_dim.value},
                              {"kernel_size", patch_size.items},
                              {"strides", patch_size.items},
                              {"data_format", format.channels_first() ? "channels_first" : "channels_last"},
                              {"use_bias", use_patch_bias}});
    Json rows = Initializer("random_normal").json;
    rows["config"]["stddev"] = 0.02;
    position_embedding_ =
        &make("Embedding", "position_embedding", "position_embedding",
              {{"input_dim", positions()}, {"output_dim", hidden_dim.value}, {"embeddings_initializer", rows}});
    if (call.shape("inputs").rank() != 4)
      throw bad_input("expected images (batch, height, width, channels), got {}", call.shape("inputs").str());
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    ValueId x = apply(call, *patch_embedding_, {call.tensor("inputs")})->id;
    x = format.channels_last(b, x);
    const Dim batch = b.shape(x)[0];
    const auto count = b.shape(x).slice(1, 3).elements();
    x = b.reshape(x, {batch, count.value_or(kUnknown), hidden_dim});

    const ValueId ids = b.apply(graph::Iota{{1, positions()}, DType::int32, 1}, {});
    const TensorPtr rows = apply(call, *position_embedding_, {Call::result(ids)});
    if (use_class_token) {
      const ValueId token = b.apply(graph::Broadcast{{batch, 1, hidden_dim}}, {call.weight(0)});
      x = b.apply(graph::Concat{1}, {token, x});
    }
    return sum(call, Call::result(x), rows);
  }

 private:
  [[nodiscard]] std::int64_t patches() const {
    return image_size.items[0] / patch_size.items[0] * (image_size.items[1] / patch_size.items[1]);
  }
  [[nodiscard]] std::int64_t positions() const { return patches() + (use_class_token ? 1 : 0); }

  Window image_size{{1, 1}}, patch_size{{1, 1}};
  Positive hidden_dim, num_channels = 3;
  bool use_class_token = true, use_patch_bias = true;
  DataFormat format;
  Layer* patch_embedding_ = nullptr;
  Layer* position_embedding_ = nullptr;
};

/// A dense layer, gelu, and a second dense layer.
class MLP : public Composite {
 public:
  void fields(Fields& f) override {
    if (!f.reading()) return;  // KerasHub has no get_config for it
    f.required("hidden_dim", hidden_dim);
    f.required("mlp_dim", mlp_dim);
    f("use_bias", use_bias);
    f("dropout_rate", dropout_rate);
  }
  void build(Weights&, Call&) override {
    Json bias = Initializer("random_normal").json;
    bias["config"]["stddev"] = 1e-6;
    const auto dense = [&](const char* called, std::int64_t units, const char* activation) {
      return &make("Dense", called, called,
                   {{"units", units}, {"activation", activation}, {"use_bias", use_bias}, {"bias_initializer", bias}});
    };
    dense_1_ = dense("dense_1", mlp_dim, "gelu");
    dense_2_ = dense("dense_2", hidden_dim, "linear");
    dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", dropout_rate.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    TensorPtr x = call.tensor("inputs");
    for (Layer* dense : {dense_1_, dense_2_}) x = apply(call, *dropout_, {apply(call, *dense, {x})});
    return x;
  }

 private:
  Positive hidden_dim, mlp_dim;
  bool use_bias = true;
  Number dropout_rate;
  Layer* dense_1_ = nullptr;
  Layer* dense_2_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// The constructor arguments that a block and the encoder have in common.
class ViTLayer : public Composite {
 public:
  void check(const Ref& config) override {
    check_rate(config, "dropout_rate", dropout_rate);
    check_rate(config, "attention_dropout", attention_dropout);
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
  }

 protected:
  void options(Fields& f) {
    f.required("mlp_dim", mlp_dim);
    f("use_mha_bias", use_mha_bias);
    f("use_mlp_bias", use_mlp_bias);
    f("dropout_rate", dropout_rate);
    f("attention_dropout", attention_dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  Layer& make_norm(const char* called, const char* attribute) {
    return make("LayerNormalization", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
  }
  Layer& make_dropout() { return make("Dropout", "dropout", "dropout", {{"rate", dropout_rate.value}}); }
  void expect_width(Call& call) const {
    const Shape in = call.shape("inputs");
    if (in.rank() != 3 || in.back() != hidden_dim)
      throw bad_input("expected an input (batch, length, {}), got {}", hidden_dim.value, in.str());
  }

  Positive num_heads, hidden_dim, mlp_dim;
  bool use_mha_bias = true, use_mlp_bias = true;
  Number dropout_rate, attention_dropout, layer_norm_epsilon = 1e-6;
};

class ViTEncoderBlock : public ViTLayer {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    if (f.reading()) {
      f.take("key_dim");  // derived from the width and the number of heads
    } else {
      f.put("key_dim", hidden_dim / num_heads);
    }
    options(f);
  }
  void build(Weights&, Call& call) override {
    expect_width(call);
    layer_norm_1_ = &make_norm("ln_1", "layer_norm_1");
    mha_ = &make("MultiHeadAttention", "mha", "mha",
                 {{"num_heads", num_heads.value},
                  {"key_dim", hidden_dim / num_heads},
                  {"use_bias", use_mha_bias},
                  {"dropout", attention_dropout.value}});
    dropout_ = &make_dropout();
    layer_norm_2_ = &make_norm("ln_2", "layer_norm_2");
    mlp_ = &make("MLP", "mlp", "mlp",
                 {{"hidden_dim", hidden_dim.value},
                  {"mlp_dim", mlp_dim.value},
                  {"use_bias", use_mlp_bias},
                  {"dropout_rate", dropout_rate.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr inputs = call.tensor("inputs");
    const TensorPtr normal = apply(call, *layer_norm_1_, {inputs});
    const TensorPtr x = sum(call, apply(call, *dropout_, {apply(call, *mha_, {normal, normal})}), inputs);
    return sum(call, x, apply(call, *mlp_, {apply(call, *layer_norm_2_, {x})}));
  }

 private:
  Layer* layer_norm_1_ = nullptr;
  Layer* mha_ = nullptr;
  Layer* dropout_ = nullptr;
  Layer* layer_norm_2_ = nullptr;
  Layer* mlp_ = nullptr;
};

class ViTEncoder : public ViTLayer {
 public:
  void fields(Fields& f) override {
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    options(f);
  }
  void check(const Ref& config) override {
    ViTLayer::check(config);
    if (num_layers > kMaxBlocks)
      config["num_layers"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  }
  void build(Weights&, Call& call) override {
    expect_width(call);
    for (std::int64_t i = 0; i < num_layers; ++i)
      blocks_.push_back(&make("ViTEncoderBlock", fmt::format("transformer_block_{}", i + 1),
                              "encoder_layers/vi_t_encoder_block" + (i == 0 ? "" : fmt::format("_{}", i)),
                              {{"num_heads", num_heads.value},
                               {"hidden_dim", hidden_dim.value},
                               {"mlp_dim", mlp_dim.value},
                               {"use_mha_bias", use_mha_bias},
                               {"use_mlp_bias", use_mlp_bias},
                               {"dropout_rate", dropout_rate.value},
                               {"attention_dropout", attention_dropout.value},
                               {"layer_norm_epsilon", layer_norm_epsilon.value}}));
    dropout_ = &make_dropout();
    layer_norm_ = &make_norm("ln", "layer_norm");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    TensorPtr x = apply(call, *dropout_, {call.tensor("inputs")});
    for (Layer* block : blocks_) x = apply(call, *block, {x});
    return apply(call, *layer_norm_, {x});
  }

 private:
  Positive num_layers;
  std::vector<Layer*> blocks_;
  Layer* dropout_ = nullptr;
  Layer* layer_norm_ = nullptr;
};

class ViTBackbone : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("image_shape", image_shape);
    f.required("patch_size", patch_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("mlp_dim", mlp_dim);
    f("dropout_rate", dropout_rate);
    f("attention_dropout", attention_dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("use_mha_bias", use_mha_bias);
    f("use_mlp_bias", use_mlp_bias);
    f("use_class_token", use_class_token);
    f("use_patch_bias", use_patch_bias);
    if (f.reading()) format.field(f);  // KerasHub accepts the key but does not write it
  }

 protected:
  void check_fields(const Ref& config) override {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t size = image_shape.items[height_axis() + i], patch = patch_size.items[i];
      if (size % patch != 0)
        config["patch_size"].fail(fmt::format("the image's {} {} cannot be divided into patches of {}",
                                              i == 0 ? "height" : "width", size, patch));
    }
    for (const auto& [key, rate] : {std::pair("dropout_rate", dropout_rate), {"attention_dropout", attention_dropout}})
      if (rate < 0.0 || rate > 1.0) config[key].fail("expected a number from 0 to 1, got " + config[key].kind());
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
    if (num_layers > kMaxBlocks)
      config["num_layers"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  }

  void assemble() override {
    const std::vector<std::int64_t>& image = image_shape.items;
    const std::size_t height = height_axis();
    const TensorRef images = input("images", {kUnknown, image[0], image[1], image[2]}, DType::float32);
    const TensorRef patches = call("ViTPatchingAndEmbedding", "vit_patching_and_embedding",
                                   {{"image_size", {image[height], image[height + 1]}},
                                    {"patch_size", patch_size.items},
                                    {"hidden_dim", hidden_dim.value},
                                    {"num_channels", format.channels_first() ? image[0] : image[2]},
                                    {"use_class_token", use_class_token},
                                    {"use_patch_bias", use_patch_bias},
                                    {"data_format", format.channels_first() ? "channels_first" : "channels_last"}},
                                   {images});
    output_struct = call("ViTEncoder", "vit_encoder",
                         {{"num_layers", num_layers.value},
                          {"num_heads", num_heads.value},
                          {"hidden_dim", hidden_dim.value},
                          {"mlp_dim", mlp_dim.value},
                          {"dropout_rate", dropout_rate.value},
                          {"attention_dropout", attention_dropout.value},
                          {"layer_norm_epsilon", layer_norm_epsilon.value},
                          {"use_mha_bias", use_mha_bias},
                          {"use_mlp_bias", use_mlp_bias}},
                         {patches});
    input_struct = images;
  }

 private:
  /// Returns the index of the height in image_shape, which has no batch axis.
  [[nodiscard]] std::size_t height_axis() const { return format.channels_first() ? 1 : 0; }

  Window image_shape{{1, 1, 1}}, patch_size{{1, 1}};
  Positive num_layers, num_heads, hidden_dim, mlp_dim;
  Number dropout_rate = 0.0, attention_dropout = 0.0, layer_norm_epsilon = 1e-6;
  bool use_mha_bias = true, use_mlp_bias = true, use_class_token = true, use_patch_bias = true;
  DataFormat format;
};

void sizes(ConfigMap& map) {
  if (map.reading()) {
    const std::int64_t image = map.integer("image_size"), patch = map.integer("patch_size");
    map.put("image_shape", {image, image, map.integer("num_channels", 3)}, "image_size");
    map.put("patch_size", {patch, patch}, "patch_size");
  } else {
    const Json image = map.of_keras("image_shape");
    map.put("image_size", image.at(0));
    map.put("num_channels", image.at(2));
    map.put("patch_size", map.of_keras("patch_size").at(0));
  }
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("mlp_dim", "intermediate_size");
  map.same("dropout_rate", "hidden_dropout_prob", 0.0);
  map.same("attention_dropout", "attention_probs_dropout_prob", 0.0);
  map.same("use_mha_bias", "qkv_bias", true);
  map.unread("layer_norm_epsilon", "layer_norm_eps", 1e-12);
  map.fixed("hidden_act", {"gelu"});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "ViTPatchingAndEmbedding",
              .make = make_layer<ViTPatchingAndEmbedding>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::embedding,
              .symbols = "class_token: - - d_model"},
    ClassInfo{.name = "MLP", .make = make_layer<MLP>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = "ViTEncoderBlock",
              .make = make_layer<ViTEncoderBlock>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    ClassInfo{.name = "ViTEncoder",
              .make = make_layer<ViTEncoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<ViTBackbone>("ViTBackbone", "keras_hub.src.models.vit.vit_backbone"),
    model_record<ImageClassifier>("ViTImageClassifier", "keras_hub.src.models.vit.vit_image_classifier"),
};

constexpr std::array kHeads{Head{"ForImageClassification", "ImageClassifier"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "vit", .stem = "ViT", .architecture = "ViT", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// KerasHub numbers the blocks of a ViT from 1.
constexpr std::array<NameRow, 24> kNames{{
    {"vit_patching_and_embedding/class_token", "embeddings.cls_token", kSame},
    {"vit_patching_and_embedding/patch_embedding/kernel", "embeddings.patch_embeddings.projection.weight",
     kConvolution},
    {"vit_patching_and_embedding/patch_embedding/bias", "embeddings.patch_embeddings.projection.bias", kSame},
    {"vit_patching_and_embedding/position_embedding/embeddings", "embeddings.position_embeddings", kInFront},
    {"vit_encoder/transformer_block_{}/ln_1/gamma", "encoder.layer.{}.layernorm_before.weight", kSame},
    {"vit_encoder/transformer_block_{}/ln_1/beta", "encoder.layer.{}.layernorm_before.bias", kSame},
    {"vit_encoder/transformer_block_{}/mha/query/kernel", "encoder.layer.{}.attention.attention.query.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mha/query/bias", "encoder.layer.{}.attention.attention.query.bias", kVector},
    {"vit_encoder/transformer_block_{}/mha/key/kernel", "encoder.layer.{}.attention.attention.key.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mha/key/bias", "encoder.layer.{}.attention.attention.key.bias", kVector},
    {"vit_encoder/transformer_block_{}/mha/value/kernel", "encoder.layer.{}.attention.attention.value.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mha/value/bias", "encoder.layer.{}.attention.attention.value.bias", kVector},
    {"vit_encoder/transformer_block_{}/mha/attention_output/kernel", "encoder.layer.{}.attention.output.dense.weight",
     kFromHeads},
    {"vit_encoder/transformer_block_{}/mha/attention_output/bias", "encoder.layer.{}.attention.output.dense.bias",
     kSame},
    {"vit_encoder/transformer_block_{}/ln_2/gamma", "encoder.layer.{}.layernorm_after.weight", kSame},
    {"vit_encoder/transformer_block_{}/ln_2/beta", "encoder.layer.{}.layernorm_after.bias", kSame},
    {"vit_encoder/transformer_block_{}/mlp/dense_1/kernel", "encoder.layer.{}.intermediate.dense.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mlp/dense_1/bias", "encoder.layer.{}.intermediate.dense.bias", kSame},
    {"vit_encoder/transformer_block_{}/mlp/dense_2/kernel", "encoder.layer.{}.output.dense.weight", kLinear},
    {"vit_encoder/transformer_block_{}/mlp/dense_2/bias", "encoder.layer.{}.output.dense.bias", kSame},
    {"vit_encoder/ln/gamma", "layernorm.weight", kSame},
    {"vit_encoder/ln/beta", "layernorm.bias", kSame},
    {"predictions/kernel", "classifier.weight", kLinear, true},
    {"predictions/bias", "classifier.bias", kSame, true},
}};
constexpr std::array kWeightNames = {
    NameTable{"ViTBackbone", "vit.", kNames, "", 1},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "vit", .layers = kLayers, .models = kModels, .hugging_face = kHuggingFace, .weight_names = kWeightNames};
  return kFamily;
}

}  // namespace attn::keras::vit
