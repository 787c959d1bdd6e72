// The layers of KerasHub's vision transformer (keras_hub/src/models/vit/vit_layers.py).
//
// Letters: B batch, P patches plus the class token, D width.
#include <array>

#include "attn/base/size.h"
#include "classes/composite.h"
#include "classes/layers/layers.h"
#include "classes/layers/spatial.h"

namespace attn::keras {
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
      // Both are derived from the sizes; KerasHub does not write the next two.
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
          fmt::format("{} by {} are no whole number of patches", image_size.items[0], image_size.items[1]));
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

/// Dense, gelu, Dense.
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

/// Constructor arguments that a block and the encoder have in common.
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
      f.take("key_dim");  // derived from both
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

constexpr std::array kKerasHubVitClasses = {
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

}  // namespace

Family keras_hub_vit_classes() { return kKerasHubVitClasses; }

}  // namespace attn::keras
