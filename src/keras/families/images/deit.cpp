// DeiT, a vision transformer with a second token for distillation (keras_hub/src/models/deit).
//
// Letters: B batch, P patches and the two tokens, D width, N heads.
#include <array>
#include <vector>

#include "families/blocks/images/vision_blocks.h"
#include "families/model_family.h"
#include "model/tasks/image_classifier.h"

namespace attn::keras::deit {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.deit.deit_layers";

/// (B,H,W,C) → (B,P,D): two tokens and the patches, plus the position embeddings.
class DeiTEmbeddings final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f("num_channels", num_channels);
    if (f.reading()) {
      for (const char* key : {"num_patches", "num_positions"}) f.take(key);  // derived from the sizes
    } else {
      f.put("num_patches", patches_);
      f.put("num_positions", patches_ + 2);
    }
    f("use_mask_token", use_mask_token);
    f("dropout_rate", dropout_rate);
  }
  void check(const Ref& config) override {
    patches_ = checked_patches(config, "image_size", image_size.items[0] / patch_size.items[0],
                               image_size.items[1] / patch_size.items[1]);
    check_rate(config, "dropout_rate", dropout_rate);
  }

  void build(Weights& w, Call&) override {
    const Initializer zeros("zeros");
    if (use_mask_token) w.add("mask_token", {1, 1, hidden_dim}, zeros);
    class_token_ = w.add("class_token", {1, 1, hidden_dim}, zeros);
    distillation_token_ = w.add("distillation_token", {1, 1, hidden_dim}, zeros);
    patch_embedding_ =
        &make("Conv2D", "patch_embedding", "patch_embedding",
              {{"filters", hidden_dim.value}, {"kernel_size", patch_size.items}, {"strides", patch_size.items}});
    position_embedding_ =
        w.add("position_embedding", {1, patches_ + 2, hidden_dim}, normal_numbers("random_normal", 0.02));
    dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", dropout_rate.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId patches = rows_of_cells(b, apply(call, *patch_embedding_, {call.tensor("inputs")})->id);
    const ValueId tokens = b.apply(graph::Concat{1}, {call.weight(class_token_), call.weight(distillation_token_)});
    const ValueId x = b.binary(graph::BinaryFn::add, behind_rows(b, tokens, patches), call.weight(position_embedding_));
    return apply(call, *dropout_, {Call::result(x)});
  }

 private:
  Window image_size{{1, 1}}, patch_size{{1, 1}};
  Positive hidden_dim, num_channels = 3;
  bool use_mask_token = false;
  Number dropout_rate;
  std::int64_t patches_ = 0;
  int class_token_ = 0, distillation_token_ = 0, position_embedding_ = 0;
  Layer* patch_embedding_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// The constructor arguments that a block and the encoder have in common.
struct Options {
  Positive num_heads, hidden_dim, intermediate_dim;
  bool use_mha_bias = true;
  Number dropout_rate, attention_dropout, layer_norm_epsilon = 1e-6;

  void fields(Fields& f) {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    if (f.reading()) {
      f.take("key_dim");  // derived from the width and the number of heads
    } else {
      f.put("key_dim", hidden_dim / num_heads);
    }
    f("use_mha_bias", use_mha_bias);
    f("dropout_rate", dropout_rate);
    f("attention_dropout", attention_dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  void check(const Ref& config) const {
    check_rate(config, "dropout_rate", dropout_rate);
    check_rate(config, "attention_dropout", attention_dropout);
  }
};

class DeiTEncoderBlock final : public PreNormBlock {
 public:
  void fields(Fields& f) override { options.fields(f); }
  void check(const Ref& config) override { options.check(config); }

  void build(Weights&, Call& call) override {
    expect_width(call, options.hidden_dim);
    norm_1_ = &make_norm("ln_1", "layer_norm_1", options.layer_norm_epsilon);
    attention_ = &make_heads("mha", "mha", options.num_heads, options.hidden_dim,
                             {{"use_bias", options.use_mha_bias}, {"dropout", options.attention_dropout.value}});
    norm_2_ = &make_norm("ln_2", "layer_norm_2", options.layer_norm_epsilon);
    // KerasHub's layers `mlp` and `output_layer` have one dense layer each.
    feed_ = {
        &make("Dense", "mlp/dense", "mlp/dense", {{"units", options.intermediate_dim.value}, {"activation", "gelu"}}),
        &make("Dense", "output_layer/output", "output_layer/dense", {{"units", options.hidden_dim.value}}),
        &make("Dropout", "output_layer/dropout", "output_layer/dropout", {{"rate", options.dropout_rate.value}})};
  }

 private:
  Options options;
};

/// Besides the rows, KerasHub's encoder returns two empty arrays for the hidden states and scores of the blocks.
class DeiTEncoder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_layers", num_layers);
    options.fields(f);
  }
  void check(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    options.check(config);
  }

  void build(Weights&, Call&) override {
    for (std::int64_t i = 0; i < num_layers; ++i)
      blocks_.push_back(&make("DeiTEncoderBlock", fmt::format("transformer_block_{}", i + 1),
                              "encoder_layers/dei_t_encoder_block" + (i == 0 ? "" : fmt::format("_{}", i)),
                              arguments_of(options)));
    layer_norm_ = &make("LayerNormalization", "ln", "layer_norm", {{"epsilon", options.layer_norm_epsilon.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    TensorPtr x = call.tensor("inputs");
    for (Layer* block : blocks_) x = apply(call, *block, {x});
    x = apply(call, *layer_norm_, {x});
    const Shape shape = call.shape(x);
    const auto empty = [&](const Shape& of) {
      return Call::result(call.builder().apply(graph::Fill{of, call.compute_dtype(), 0.0}, {}));
    };
    return ArgList{x, empty({0, shape[1], shape[2]}), empty({0, options.num_heads, shape[1], shape[1]})};
  }

 private:
  Positive num_layers;
  Options options;
  std::vector<Layer*> blocks_;
  Layer* layer_norm_ = nullptr;
};

class DeiTBackbone final : public ImageBackbone {
 public:
  void fields(Fields& f) override {
    f.required("image_shape", image_shape);
    f.required("patch_size", patch_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", options.num_heads);
    f.required("hidden_dim", options.hidden_dim);
    f.required("intermediate_dim", options.intermediate_dim);
    f("dropout_rate", options.dropout_rate);
    f("attention_dropout", options.attention_dropout);
    f("layer_norm_epsilon", options.layer_norm_epsilon);
    f("use_mha_bias", options.use_mha_bias);
  }

 protected:
  void check_fields(const Ref& config) override {
    for (std::size_t i = 0; i < 2; ++i)
      if (image_shape.items[i] % patch_size.items[i] != 0)
        config["patch_size"].fail(
            fmt::format("{} pixels cannot be divided into patches of {}", image_shape.items[i], patch_size.items[i]));
    check_blocks(config, "num_layers", num_layers);
    options.check(config);
  }

  void assemble() override {
    const TensorRef image = images("input_layer");
    const TensorRef x = call("DeiTEmbeddings", "deit_patching_and_embedding",
                             {{"image_size", {height(), width()}},
                              {"patch_size", patch_size.items},
                              {"hidden_dim", options.hidden_dim.value},
                              {"num_channels", image_shape.items[2]},
                              {"dropout_rate", options.dropout_rate.value}},
                             {image});
    Json arguments = arguments_of(options);
    arguments["num_layers"] = num_layers.value;
    output_struct = call("DeiTEncoder", "deit_encoder", std::move(arguments), {x});
    input_struct = image;
  }

 private:
  Window patch_size{{1, 1}};
  Positive num_layers;
  Options options;
};

constexpr std::array kLayers = {
    ClassInfo{.name = "DeiTEmbeddings",
              .make = make_layer<DeiTEmbeddings>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::embedding,
              .symbols = "class_token: - - d_model; distillation_token: - - d_model; position_embedding: - - d_model"},
    ClassInfo{.name = "DeiTEncoderBlock",
              .make = make_layer<DeiTEncoderBlock>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    ClassInfo{.name = "DeiTEncoder",
              .make = make_layer<DeiTEncoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<DeiTBackbone>("DeiTBackbone", "keras_hub.src.models.deit.deit_backbone"),
    model_record<ImageClassifier, ImageHead::undropped_token>("DeiTImageClassifier",
                                                              "keras_hub.src.models.deit.deit_image_classifier"),
};

void sizes(ConfigMap& map) {
  map.square("image_shape", "image_size", 224);
  map.fixed("num_channels", {3});
  if (map.reading()) {
    const std::int64_t patch = map.integer("patch_size", 16);
    map.put("patch_size", {patch, patch}, "patch_size");
  } else {
    const Json patch = map.of_keras("patch_size");
    if (patch.at(0) != patch.at(1))
      throw bad_input("a folder of Hugging Face has square patches, and patch_size is {}", patch.dump());
    map.put("patch_size", patch.at(0));
  }
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("dropout_rate", "hidden_dropout_prob", 0.0);
  map.same("attention_dropout", "attention_probs_dropout_prob", 0.0);
  map.same("layer_norm_epsilon", "layer_norm_eps", 1e-12);
  if (!map.reading() && !map.of_keras("use_mha_bias").get<bool>())
    throw bad_input("a DeiT without biases in its attention cannot be written as a Hugging Face folder");
  map.fixed("qkv_bias", {true});
  map.fixed("hidden_act", {"gelu"});
}

/// A classifier with a teacher has two heads. KerasHub's class has only that of the class token.
constexpr std::array kHeads{Head{"ForImageClassification", "ImageClassifier"},
                            Head{"ForImageClassificationWithTeacher", "ImageClassifier"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "deit", .stem = "DeiT", .architecture = "DeiT", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// KerasHub numbers the blocks from 1.
constexpr std::array<NameRow, 25> kNames{{
    {"deit_patching_and_embedding/class_token", "embeddings.cls_token", kSame},
    {"deit_patching_and_embedding/distillation_token", "embeddings.distillation_token", kSame},
    {"deit_patching_and_embedding/patch_embedding/kernel", "embeddings.patch_embeddings.projection.weight",
     kConvolution},
    {"deit_patching_and_embedding/patch_embedding/bias", "embeddings.patch_embeddings.projection.bias", kSame},
    {"deit_patching_and_embedding/position_embedding", "embeddings.position_embeddings", kSame},
    {"deit_encoder/transformer_block_{}/ln_1/gamma", "encoder.layer.{}.layernorm_before.weight", kSame},
    {"deit_encoder/transformer_block_{}/ln_1/beta", "encoder.layer.{}.layernorm_before.bias", kSame},
    {"deit_encoder/transformer_block_{}/mha/query/kernel", "encoder.layer.{}.attention.attention.query.weight",
     kLinear},
    {"deit_encoder/transformer_block_{}/mha/query/bias", "encoder.layer.{}.attention.attention.query.bias", kVector},
    {"deit_encoder/transformer_block_{}/mha/key/kernel", "encoder.layer.{}.attention.attention.key.weight", kLinear},
    {"deit_encoder/transformer_block_{}/mha/key/bias", "encoder.layer.{}.attention.attention.key.bias", kVector},
    {"deit_encoder/transformer_block_{}/mha/value/kernel", "encoder.layer.{}.attention.attention.value.weight",
     kLinear},
    {"deit_encoder/transformer_block_{}/mha/value/bias", "encoder.layer.{}.attention.attention.value.bias", kVector},
    {"deit_encoder/transformer_block_{}/mha/attention_output/kernel", "encoder.layer.{}.attention.output.dense.weight",
     kFromHeads},
    {"deit_encoder/transformer_block_{}/mha/attention_output/bias", "encoder.layer.{}.attention.output.dense.bias",
     kSame},
    {"deit_encoder/transformer_block_{}/ln_2/gamma", "encoder.layer.{}.layernorm_after.weight", kSame},
    {"deit_encoder/transformer_block_{}/ln_2/beta", "encoder.layer.{}.layernorm_after.bias", kSame},
    {"deit_encoder/transformer_block_{}/mlp/dense/kernel", "encoder.layer.{}.intermediate.dense.weight", kLinear},
    {"deit_encoder/transformer_block_{}/mlp/dense/bias", "encoder.layer.{}.intermediate.dense.bias", kSame},
    {"deit_encoder/transformer_block_{}/output_layer/output/kernel", "encoder.layer.{}.output.dense.weight", kLinear},
    {"deit_encoder/transformer_block_{}/output_layer/output/bias", "encoder.layer.{}.output.dense.bias", kSame},
    {"deit_encoder/ln/gamma", "layernorm.weight", kSame},
    {"deit_encoder/ln/beta", "layernorm.bias", kSame},
    {"predictions/kernel", "classifier.weight", kLinear, true, 0, "cls_classifier.weight"},
    {"predictions/bias", "classifier.bias", kSame, true, 0, "cls_classifier.bias"},
}};
constexpr std::array kWeightNames = {
    NameTable{"DeiTBackbone", "deit.", kNames, "", 1},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "deit", .layers = kLayers, .models = kModels, .hugging_face = kHuggingFace, .weight_names = kWeightNames};
  return kFamily;
}

}  // namespace attn::keras::deit
