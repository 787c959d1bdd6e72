// EdRec (keras_hub/src/models/edrec).
#include <array>
#include <cstdint>
#include <string>

#include "classes/composite.h"
#include "classes/layers/attention/padding_mask.h"
#include "classes/ops/expression.h"
#include "families/model_family.h"
#include "model/backbones/backbone.h"
#include "model/tasks/task.h"

namespace attn::keras::edrec {
namespace {

constexpr std::string_view kModule = "keras_hub.src.models.edrec.edrec_layers";

/// Computes x/√(mean(x²) + ε)·(1 + scale), in the dtype of x.
class EdRecRMSNormalization final : public Layer {
 public:
  void fields(Fields& f) override { f("epsilon", epsilon); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { w.add("scale", {call.shape("x").back()}, Initializer("ones")); }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression x(b, call.tensor("x")->id);
    const int last = x.shape().rank() - 1;
    const Expression factor = Expression(b, call.weight(0)) + 1.0;
    if (x.dtype() == DType::float32 || x.dtype() == DType::float64)
      return Call::result(b.apply(graph::LayerNorm{graph::NormKind::rms, {last}, epsilon, true, false}, {x, factor}));
    const Expression square_mean = square(x).reduced({graph::ReduceFn::mean, {last}, true});
    return Call::result(x / sqrt(square_mean + epsilon.value) * factor);
  }

 private:
  Number epsilon{1e-6};
};

/// Computes down(gelu(up(x))·gate(x)).
class EdRecGatedFeedForward final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f.required("hidden_dim", hidden_dim);
    f("dropout_rate", dropout_rate);
    f("activation", activation);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const auto dense = [&](const char* called, std::int64_t units) {
      return &make("Dense", called, called,
                   {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
    };
    up_proj_ = dense("up_proj", intermediate_dim);
    gate_proj_ = dense("gate_proj", intermediate_dim);
    down_proj_ = dense("down_proj", hidden_dim);
    dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", dropout_rate.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("x");
    const Expression up(b, apply(call, *up_proj_, {x})->id), gate(b, apply(call, *gate_proj_, {x})->id);
    // The name "gelu" means its tanh approximation here.
    const bool by_tanh = activation.json == "gelu";
    const Expression active = by_tanh ? up.unary(graph::UnaryFn::gelu_tanh) : Expression(b, activation.apply(b, up));
    return apply(call, *dropout_, {apply(call, *down_proj_, {Call::result(active * gate)})});
  }

 private:
  Positive intermediate_dim, hidden_dim;
  Number dropout_rate{0.0};
  Activation activation = *Activation::named("gelu");
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Layer* up_proj_ = nullptr;
  Layer* gate_proj_ = nullptr;
  Layer* down_proj_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// The common part of the blocks of encoder and decoder, which normalize the input of each sublayer.
class EdRecBlock : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout_rate", dropout_rate);
    f("epsilon", epsilon);
  }
  void check(const Ref& config) override {
    if (dropout_rate < 0.0 || dropout_rate > 1.0)
      config["dropout_rate"].fail("expected a number from 0 to 1, got " + config["dropout_rate"].kind());
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
  }

 protected:
  Layer* make_norm(const char* called) {
    return &make("EdRecRMSNormalization", called, called, {{"epsilon", epsilon.value}});
  }
  Layer* make_attention(const char* class_name, const char* called) {
    return &make(class_name, called, called,
                 {{"num_heads", num_heads.value},
                  {"key_dim", hidden_dim / num_heads},
                  {"use_bias", false},
                  {"output_shape", hidden_dim.value}});
  }
  Layer* make_dropout(const char* called) { return &make("Dropout", called, called, {{"rate", dropout_rate.value}}); }
  void make_feed_forward() {
    feed_forward_norm_ = make_norm("pre_ffw_norm");
    mlp_ = &make("EdRecGatedFeedForward", "mlp", "mlp",
                 {{"intermediate_dim", intermediate_dim.value},
                  {"hidden_dim", hidden_dim.value},
                  {"dropout_rate", dropout_rate.value}});
  }
  TensorPtr fed_forward(Call& call, const TensorPtr& x) {
    return sum(call, x, apply(call, *mlp_, {apply(call, *feed_forward_norm_, {x})}));
  }

 private:
  Positive hidden_dim, num_heads, intermediate_dim;
  Number dropout_rate{0.0}, epsilon{1e-6};
  Layer* feed_forward_norm_ = nullptr;
  Layer* mlp_ = nullptr;
};

class EdRecEncoderBlock final : public EdRecBlock {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"x", "padding_mask", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    attention_norm_ = make_norm("pre_attention_norm");
    attention_ = make_attention("MultiHeadAttention", "attention");
    dropout_ = make_dropout("dropout1");
    make_feed_forward();
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("x");
    const TensorPtr normal = apply(call, *attention_norm_, {in});
    const TensorPtr attended =
        apply(call, *attention_, {},
              {{"query", normal}, {"value", normal}, {"attention_mask", merged_mask(call, in, "padding_mask", "")}});
    return fed_forward(call, sum(call, in, apply(call, *dropout_, {attended})));
  }

 private:
  Layer* attention_norm_ = nullptr;
  Layer* attention_ = nullptr;
  Layer* dropout_ = nullptr;
};

class EdRecDecoderBlock final : public EdRecBlock {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {
        "x", "encoder_outputs", "decoder_padding_mask", "encoder_padding_mask", "use_causal_mask", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    self_norm_ = make_norm("pre_self_attn_norm");
    self_attention_ = make_attention("CachedMultiHeadAttention", "self_attention");
    self_dropout_ = make_dropout("dropout1");
    cross_norm_ = make_norm("pre_cross_attn_norm");
    cross_attention_ = make_attention("CachedMultiHeadAttention", "cross_attention");
    cross_dropout_ = make_dropout("dropout2");
    make_feed_forward();
  }
  /// The second and third results are the caches, which are empty.
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("x"), encoded = call.tensor("encoder_outputs");
    const TensorPtr normal = apply(call, *self_norm_, {in});
    const TensorPtr own = apply(call, *self_attention_, {},
                                {{"query", normal},
                                 {"value", normal},
                                 {"attention_mask", merged_mask(call, in, "decoder_padding_mask", "")},
                                 {"use_causal_mask", call.flag("use_causal_mask", true)}});
    TensorPtr x = sum(call, in, apply(call, *self_dropout_, {own}));
    const TensorPtr crossed = apply(call, *cross_attention_, {},
                                    {{"query", apply(call, *cross_norm_, {x})},
                                     {"value", encoded},
                                     {"attention_mask", merged_mask(call, encoded, "encoder_padding_mask", "")}});
    x = fed_forward(call, sum(call, x, apply(call, *cross_dropout_, {crossed})));
    const auto none = [&] {
      return Call::result(call.builder().apply(graph::Fill{Shape{0}, call.compute_dtype(), 0.0}, {}));
    };
    return ArgList{x, none(), none()};
  }

 private:
  Layer* self_norm_ = nullptr;
  Layer* self_attention_ = nullptr;
  Layer* self_dropout_ = nullptr;
  Layer* cross_norm_ = nullptr;
  Layer* cross_attention_ = nullptr;
  Layer* cross_dropout_ = nullptr;
};

class EdRecBackbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("vocab_size", vocab_size);
    f.required("num_layers_enc", num_layers_enc);
    f.required("num_layers_dec", num_layers_dec);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("dropout", dropout);
    f("epsilon", epsilon);
  }

 protected:
  void check_fields(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
    for (const char* key : {"num_layers_enc", "num_layers_dec"})
      if (const Ref count = config[key]; count.integer() > kMaxBlocks)
        count.fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  }
  void assemble() override {
    const auto tokens = [&](const char* called) { return input(called, {kUnknown, kUnknown}, DType::int32); };
    const auto mask = [&](const char* called) { return input(called, {kUnknown, kUnknown}, DType::boolean); };
    const TensorRef encoder_tokens = tokens("encoder_token_ids"), decoder_tokens = tokens("decoder_token_ids"),
                    encoder_mask = mask("encoder_padding_mask"), decoder_mask = mask("decoder_padding_mask");
    Layer& embedding =
        layer("Embedding", "embedding", {{"input_dim", vocab_size.value}, {"output_dim", hidden_dim.value}});
    const Json block = {{"hidden_dim", hidden_dim.value},
                        {"num_heads", num_heads.value},
                        {"intermediate_dim", intermediate_dim.value},
                        {"dropout_rate", dropout.value},
                        {"epsilon", epsilon.value}};
    TensorRef encoded = call(embedding, {encoder_tokens});
    for (std::int64_t i = 0; i < num_layers_enc; ++i)
      encoded = call("EdRecEncoderBlock", fmt::format("encoder_layer_{}", i), block, {encoded},
                     {{"padding_mask", encoder_mask}});
    TensorRef x = call(embedding, {decoder_tokens});
    for (std::int64_t i = 0; i < num_layers_dec; ++i)
      x = call("EdRecDecoderBlock", fmt::format("decoder_layer_{}", i), block, {x},
               {{"encoder_outputs", encoded},
                {"decoder_padding_mask", decoder_mask},
                {"encoder_padding_mask", encoder_mask}});
    input_struct = ArgDict{{"encoder_token_ids", encoder_tokens},
                           {"decoder_token_ids", decoder_tokens},
                           {"encoder_padding_mask", encoder_mask},
                           {"decoder_padding_mask", decoder_mask}};
    output_struct = ArgDict{{"encoder_sequence_output", encoded}, {"decoder_sequence_output", x}};
  }

 private:
  Positive vocab_size, num_layers_enc, num_layers_dec, hidden_dim, intermediate_dim, num_heads;
  Number dropout{0.0}, epsilon{1e-6};
};

/// Computes the logits for each position of the decoder. The head has the global policy, float32, for any dtype of the
/// backbone.
class EdRecSeq2SeqLM final : public Task {
 protected:
  [[nodiscard]] std::string_view kind() const override { return "Seq2SeqLM"; }
  void assemble() override {
    const TensorRef x = backbone_result("decoder_sequence_output");
    const DTypePolicy stated = policy;
    policy.name = "float32";
    policy.compute = policy.variable = DType::float32;
    output_struct = call("Dense", "lm_head", {{"units", backbone_size("vocab_size")}, {"use_bias", false}}, {x});
    policy = stated;
  }
};

constexpr std::array kLayers = {
    ClassInfo{.name = "EdRecRMSNormalization",
              .make = make_layer<EdRecRMSNormalization>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::normalization,
              .symbols = "scale: d_model"},
    ClassInfo{.name = "EdRecGatedFeedForward",
              .make = make_layer<EdRecGatedFeedForward>,
              .since = kAnyKeras,
              .module = kModule},
    ClassInfo{.name = "EdRecEncoderBlock",
              .make = make_layer<EdRecEncoderBlock>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    ClassInfo{.name = "EdRecDecoderBlock",
              .make = make_layer<EdRecDecoderBlock>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<EdRecBackbone>("EdRecBackbone", "keras_hub.src.models.edrec.edrec_backbone"),
    model_record<EdRecSeq2SeqLM>("EdRecSeq2SeqLM", "keras_hub.src.models.edrec.edrec_seq2seq_lm"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "edrec", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::edrec
