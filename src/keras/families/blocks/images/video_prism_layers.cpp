// Letters: B batch, F frames, P patches of a frame, T tokens, D width, N heads, H head size.
#include "families/blocks/images/video_prism_layers.h"

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classes/layers/attention/attend.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/vision_blocks.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Two dense layers.
class VideoPrismMLP final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("use_bias", use_bias);
    f("dropout_rate", dropout_rate);
    f("activation", activation);
  }
  void build(Weights&, Call&) override {
    const Json bias = normal_initializer("RandomNormal", 1e-6);
    const auto dense = [&](const char* called, std::int64_t units, const Json& function) {
      return &make("Dense", called, called,
                   {{"units", units}, {"use_bias", use_bias}, {"activation", function}, {"bias_initializer", bias}});
    };
    dense_1_ = dense("dense_1", intermediate_dim, activation.json);
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
  Positive hidden_dim, intermediate_dim;
  bool use_bias = true;
  Number dropout_rate;
  Activation activation = *Activation::named("gelu");
  Layer* dense_1_ = nullptr;
  Layer* dense_2_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// x times a trained factor for each feature of a head, over √H.
class PerDimScale final : public Layer {
 public:
  void build(Weights& w, Call& call) override {
    w.add("per_dim_scale", {call.shape("inputs").back()}, Initializer("zeros"));
  }
  Arg call(Call& call) override {
    constexpr double kInverse = 1.442695041;  // 1/softplus(0)
    Builder& b = call.builder();
    const Expression x(b, call.tensor("inputs")->id);
    const Expression grown = Expression(b, call.weight(0)).unary(graph::UnaryFn::softplus);
    return Call::result(x * (grown * (kInverse / std::sqrt(static_cast<double>(x.shape().back())))));
  }
};

class VideoPrismAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("key_dim", key_dim);
    f.required("hidden_dim", hidden_dim);
    f("dropout_rate", dropout_rate);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("use_per_dim_scale", use_per_dim_scale);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"query", "value", "key", "attention_mask"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    const auto projection = [&](const char* called, const char* attribute) {
      return &make("EinsumDense", called, attribute,
                   {{"equation", "btd,dnh->btnh"},
                    {"output_shape", {nullptr, num_heads.value, key_dim.value}},
                    {"bias_axes", "nh"}});
    };
    query_ = projection("query", "query_dense");
    key_ = projection("key", "key_dense");
    value_ = projection("value", "value_dense");
    output_ = &make("EinsumDense", "output", "output_dense",
                    {{"equation", "btnh,nhd->btd"}, {"output_shape", {nullptr, hidden_dim.value}}, {"bias_axes", "d"}});
    if (use_per_dim_scale)
      scale_ = &make("VideoPrismPerDimScale", "per_dim_scale", "per_dim_scale_layer", Json::object());
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    TensorPtr query = apply(call, *query_, {call.tensor("query")});
    const TensorPtr key = apply(call, *key_, {call.tensor(call.has("key") ? "key" : "query")});
    const TensorPtr value = apply(call, *value_, {call.tensor("value")});
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(key_dim));
    if (scale_ != nullptr) {
      query = apply(call, *scale_, {query});
      how.scale = 1.0;
    }
    how.soft_cap = attention_logit_soft_cap ? attention_logit_soft_cap->value : 0.0;
    how.path = softmax_path(call);
    if (const TensorPtr mask = call.optional_tensor("attention_mask"); mask != nullptr && !call.lowering().symbolic())
      how.masks = {b.cast(b.expand_dims(mask->id, 1), DType::boolean)};
    const ValueId context = attended_heads(call, query->id, key->id, value->id, how, dropout_rate);
    const Shape in = b.shape(context);
    const TensorPtr out = apply(call, *output_, {Call::result(b.reshape(context, {in[0], in[1], num_heads, key_dim}))});
    // Keras's symbolic shape of an EinsumDense has no length; that of this layer is the query's.
    const Shape asked = call.shape("query");
    if (!call.lowering().symbolic() || asked[1] == kUnknown) return out;
    return Call::result(b.reshape(out->id, {asked[0], asked[1], hidden_dim}));
  }

 private:
  Positive num_heads, key_dim, hidden_dim;
  Number dropout_rate{0};
  std::optional<Number> attention_logit_soft_cap;
  bool use_per_dim_scale = false;
  Layer* query_ = nullptr;
  Layer* key_ = nullptr;
  Layer* value_ = nullptr;
  Layer* output_ = nullptr;
  Layer* scale_ = nullptr;
};

/// The constructor arguments that a block and the encoder have in common.
struct EncoderOptions {
  Positive num_heads, hidden_dim, intermediate_dim;
  Number dropout_rate = 0.0, attention_dropout_rate = 0.0, layer_norm_epsilon = 1e-6;
  std::optional<Number> attention_logit_soft_cap;
  Activation activation = *Activation::named("gelu");
  bool is_causal = false;

  void fields(Fields& f, bool with_key_dim) {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    if (with_key_dim && f.reading()) f.take("key_dim");  // derived from the width and the number of heads
    if (with_key_dim && !f.reading()) f.put("key_dim", key_dim());
    f.required("intermediate_dim", intermediate_dim);
    f("dropout_rate", dropout_rate);
    f("attention_dropout_rate", attention_dropout_rate);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("activation", activation);
    f("is_causal", is_causal);
  }
  void check(const Ref& config) const {
    check_rate(config, "dropout_rate", dropout_rate);
    check_rate(config, "attention_dropout_rate", attention_dropout_rate);
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
  }
  [[nodiscard]] std::int64_t key_dim() const { return hidden_dim / num_heads; }
};

class VideoPrismEncoderBlock final : public PreNormBlock {
 public:
  void fields(Fields& f) override { options.fields(f, true); }
  void check(const Ref& config) override { options.check(config); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "attention_mask"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    norm_1_ = &make_norm("ln_1", "layer_norm_1", options.layer_norm_epsilon);
    Json soft_cap;
    if (options.attention_logit_soft_cap) soft_cap = options.attention_logit_soft_cap->value;
    attention_ = &make("VideoPrismAttention", "mha", "mha",
                       {{"num_heads", options.num_heads.value},
                        {"key_dim", options.key_dim()},
                        {"hidden_dim", options.hidden_dim.value},
                        {"dropout_rate", options.attention_dropout_rate.value},
                        {"attention_logit_soft_cap", soft_cap}});
    dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", options.dropout_rate.value}});
    norm_2_ = &make_norm("ln_2", "layer_norm_2", options.layer_norm_epsilon);
    feed_ = {&make("VideoPrismMLP", "mlp", "mlp",
                   {{"hidden_dim", options.hidden_dim.value},
                    {"intermediate_dim", options.intermediate_dim.value},
                    {"dropout_rate", options.dropout_rate.value},
                    {"activation", options.activation.json}})};
  }

 private:
  TensorPtr attended(Call& call, const TensorPtr& x) override {
    ArgDict how;
    if (call.has("attention_mask")) how.emplace_back("attention_mask", call.arg("attention_mask"));
    return apply(call, *dropout_, {apply(call, *attention_, {x, x}, how)});
  }

  EncoderOptions options;
  Layer* dropout_ = nullptr;
};

class VideoPrismEncoder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_layers", num_layers);
    options.fields(f, false);
    f("use_final_layernorm", use_final_layernorm);
  }
  void check(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    options.check(config);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "attention_mask"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    Json arguments = Json::object();
    Fields f(arguments, kNewest);
    options.fields(f, false);
    for (std::int64_t i = 0; i < num_layers; ++i)
      blocks_.push_back(&make("VideoPrismEncoderBlock", fmt::format("transformer_block_{}", i),
                              "encoder_layers/video_prism_encoder_block" + (i == 0 ? "" : fmt::format("_{}", i)),
                              arguments));
    dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", options.dropout_rate.value}});
    if (use_final_layernorm)
      norm_ = &make("LayerNormalization", "ln", "layer_norm", {{"epsilon", options.layer_norm_epsilon.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    ArgDict how;
    if (call.has("attention_mask")) how.emplace_back("attention_mask", call.arg("attention_mask"));
    TensorPtr x = apply(call, *dropout_, {call.tensor("inputs")});
    for (Layer* block : blocks_) x = apply(call, *block, {x}, how);
    return norm_ == nullptr ? x : apply(call, *norm_, {x});
  }

 private:
  Positive num_layers;
  EncoderOptions options;
  bool use_final_layernorm = true;
  std::vector<Layer*> blocks_;
  Layer* dropout_ = nullptr;
  Layer* norm_ = nullptr;
};

/// (B,T,D) → (B,Q,D): trained queries that attend to the rows.
class AttenTokenPooling final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f("query_dim", query_dim);
    f("num_queries", num_queries);
    f("dropout_rate", dropout_rate);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("use_per_dim_scale", use_per_dim_scale);
    if (f.reading() && !query_dim) query_dim = hidden_dim;
  }
  void check(const Ref& config) override { check_rate(config, "dropout_rate", dropout_rate); }

  void build(Weights& w, Call&) override {
    Initializer normal("RandomNormal");
    normal.value.stddev = 0.02;
    w.add("pooling_attention_query", {num_queries, *query_dim}, normal);
    attention_ = &make("VideoPrismAttention", "pooling_attention", "pooling_attention",
                       {{"num_heads", num_heads.value},
                        {"key_dim", 4 * hidden_dim / num_heads},
                        {"hidden_dim", hidden_dim.value},
                        {"dropout_rate", dropout_rate.value},
                        {"use_per_dim_scale", use_per_dim_scale}});
    norm_ = &make("LayerNormalization", "pooling_attention_layer_norm", "layer_norm",
                  {{"epsilon", layer_norm_epsilon.value}});
    dropout_ = &make("Dropout", "attention_dropout", "dropout_layer", {{"rate", dropout_rate.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr rows = call.tensor("inputs");
    Builder& b = call.builder();
    const ValueId query =
        b.apply(graph::Broadcast{{call.shape(rows)[0], num_queries, *query_dim}}, {b.expand_dims(call.weight(0), 0)});
    const TensorPtr x = apply(call, *attention_, {Call::result(query), rows, rows});
    return apply(call, *dropout_, {apply(call, *norm_, {x})});
  }

 private:
  Positive num_heads, hidden_dim, num_queries = 1;
  std::optional<Positive> query_dim;
  Number dropout_rate = 0.0, layer_norm_epsilon = 1e-6;
  bool use_per_dim_scale = true;
  Layer* attention_ = nullptr;
  Layer* norm_ = nullptr;
  Layer* dropout_ = nullptr;
};

}  // namespace

LayerPtr make_video_prism_mlp() { return std::make_unique<VideoPrismMLP>(); }
LayerPtr make_video_prism_per_dim_scale() { return std::make_unique<PerDimScale>(); }
LayerPtr make_video_prism_attention() { return std::make_unique<VideoPrismAttention>(); }
LayerPtr make_video_prism_encoder_block() { return std::make_unique<VideoPrismEncoderBlock>(); }
LayerPtr make_video_prism_encoder() { return std::make_unique<VideoPrismEncoder>(); }
LayerPtr make_video_prism_pooling() { return std::make_unique<AttenTokenPooling>(); }

}  // namespace attn::keras
