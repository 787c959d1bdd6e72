// KerasHub's transformer blocks.
//
// Letters: B batch, T length of the decoder or encoder, S length of the sequence that a decoder attends to, D width.
#include <algorithm>
#include <array>

#include "classes/composite.h"
#include "classes/layers/attention/padding_mask.h"
#include "classes/layers/keras_hub/transformer_blocks.h"
#include "classes/layers/layers.h"
#include "classes/ops/fourier.h"

namespace attn::keras {
namespace {

/// The common part of encoder and decoder: the config and its sublayers.
class TransformerBlock : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("dropout", dropout);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("normalize_first", normalize_first);
  }
  void check(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

 protected:
  /// The residual sum of x and `sublayer`, with normalization before or after.
  template <typename Sublayer>
  TensorPtr residual(Call& call, const TensorPtr& x, Layer& norm, Layer& dropout_layer, Sublayer&& sublayer) {
    const TensorPtr in = normalize_first ? apply(call, norm, {x}) : x;
    const TensorPtr out = sum(call, apply(call, dropout_layer, {sublayer(in)}), x);
    return normalize_first ? out : apply(call, norm, {out});
  }

  TensorPtr feed_forward(Call& call, const TensorPtr& x) {
    return residual(call, x, *feedforward_norm_, *feedforward_dropout_, [&](const TensorPtr& in) {
      return apply(call, *output_dense_, {apply(call, *intermediate_dense_, {in})});
    });
  }

  /// The width of an input (B,T,D).
  [[nodiscard]] static std::int64_t width(const Shape& in) {
    if (in.rank() != 3 || in.back() == kUnknown)
      throw bad_input("expected an input (batch, length, width), got {}", in.str());
    return in.back();
  }
  Layer& make_attention(const char* class_name, const char* called, const char* attribute, std::int64_t hidden_dim) {
    if (hidden_dim < num_heads) throw bad_input("{} features are too few for {} heads", hidden_dim, num_heads.value);
    return make(class_name, called, attribute,
                {{"num_heads", num_heads.value},
                 {"key_dim", hidden_dim / num_heads},
                 {"dropout", dropout.value},
                 {"kernel_initializer", kernel_initializer.json},
                 {"bias_initializer", bias_initializer.json}});
  }
  Layer& make_norm(const char* called, const char* attribute) {
    return make("LayerNormalization", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
  }
  Layer& make_dropout(const char* called, const char* attribute) {
    return make("Dropout", called, attribute, {{"rate", dropout.value}});
  }
  Layer& make_dense(const char* called, const char* attribute, std::int64_t units, const Json& function) {
    return make("Dense", called, attribute,
                {{"units", units},
                 {"activation", function},
                 {"kernel_initializer", kernel_initializer.json},
                 {"bias_initializer", bias_initializer.json}});
  }
  void make_feed_forward(std::int64_t hidden_dim) {
    intermediate_dense_ = &make_dense("feedforward_intermediate_dense", "_feedforward_intermediate_dense",
                                      intermediate_dim, activation.json);
    output_dense_ = &make_dense("feedforward_output_dense", "_feedforward_output_dense", hidden_dim, "linear");
  }

  Positive intermediate_dim, num_heads;
  Number dropout = 0;
  Activation activation = *Activation::named("relu");
  Number layer_norm_epsilon = 1e-5;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  bool normalize_first = false;

  Layer* self_attention_ = nullptr;
  Layer* self_attention_norm_ = nullptr;
  Layer* self_attention_dropout_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
  Layer* feedforward_norm_ = nullptr;
  Layer* feedforward_dropout_ = nullptr;
};

class TransformerEncoder : public TransformerBlock {
 public:
  explicit TransformerEncoder(const char* attention = "MultiHeadAttention") : attention_(attention) {}
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 5> kNames = {"inputs", "padding_mask", "attention_mask", "training",
                                                               "return_attention_scores"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call.shape("inputs"));
    self_attention_ = &make_attention(attention_, "self_attention_layer", "_self_attention_layer", hidden_dim);
    self_attention_norm_ = &make_norm("self_attention_layer_norm", "_self_attention_layer_norm");
    self_attention_dropout_ = &make_dropout("self_attention_dropout", "_self_attention_dropout");
    feedforward_norm_ = &make_norm("feedforward_layer_norm", "_feedforward_layer_norm");
    make_feed_forward(hidden_dim);
    feedforward_dropout_ = &make_dropout("feedforward_dropout", "_feedforward_dropout");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr inputs = call.tensor("inputs");
    const Arg mask = merged_mask(call, inputs, "padding_mask", "attention_mask");
    // The layer returns scores if requested, but compute_output_shape covers only the sequence, so no model can use
    // them.
    const bool give_scores = call.flag("return_attention_scores");
    const TensorPtr x =
        residual(call, inputs, *self_attention_norm_, *self_attention_dropout_, [&](const TensorPtr& in) {
          const ArgDict kwargs = {
              {"query", in}, {"value", in}, {"attention_mask", mask}, {"return_attention_scores", give_scores}};
          return tensors_of(call.lowering().apply(*self_attention_, ArgList{}, kwargs)).front();
        });
    return feed_forward(call, x);
  }

 private:
  const char* attention_;  // the class
};

/// A transformer block that also attends to an encoder sequence, if its call has one.
class TransformerDecoder : public TransformerBlock {
 public:
  explicit TransformerDecoder(const char* attention = "CachedMultiHeadAttention") : attention_(attention) {}
  void fields(Fields& f) override {
    TransformerBlock::fields(f);
    f("decoder_sequence_shape", decoder_sequence_shape);
    f("encoder_sequence_shape", encoder_sequence_shape);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 12> kNames = {
        "decoder_sequence",      "encoder_sequence",
        "decoder_padding_mask",  "decoder_attention_mask",
        "encoder_padding_mask",  "encoder_attention_mask",
        "self_attention_cache",  "self_attention_cache_update_index",
        "cross_attention_cache", "cross_attention_cache_update_index",
        "use_causal_mask",       "training"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const Shape decoder = call.shape("decoder_sequence");
    const std::int64_t hidden_dim = width(decoder);
    std::optional<Shape> encoder;
    if (call.has("encoder_sequence")) encoder = call.shape("encoder_sequence");
    // A config with input shapes was built with these instead of this call's.
    if (!decoder_sequence_shape) {
      decoder_sequence_shape = decoder;
      encoder_sequence_shape = encoder;
    } else if (decoder_sequence_shape->rank() != 3 || decoder_sequence_shape->back() != hidden_dim) {
      throw bad_input("decoder_sequence_shape is {}, but the layer is called with {}", decoder_sequence_shape->str(),
                      decoder.str());
    }
    self_attention_ = &make_attention(attention_, "self_attention", "_self_attention_layer", hidden_dim);
    self_attention_norm_ = &make_norm("self_attention_layer_norm", "_self_attention_layer_norm");
    self_attention_dropout_ = &make_dropout("self_attention_dropout", "_self_attention_dropout");
    if (encoder_sequence_shape) {
      cross_attention_ = &make_attention(attention_, "cross_attention", "_cross_attention_layer", hidden_dim);
      cross_attention_norm_ = &make_norm("cross_attention_layer_norm", "_cross_attention_layer_norm");
      cross_attention_dropout_ = &make_dropout("cross_attention_dropout", "_cross_attention_dropout");
    }
    make_feed_forward(hidden_dim);
    feedforward_norm_ = &make_norm("feedforward_layer_norm", "_feedforward_layer_norm");
    feedforward_dropout_ = &make_dropout("feedforward_dropout", "_feedforward_dropout");
  }

  Arg call(Call& call) override {
    for (const std::string_view argument : arguments())
      if (argument.find("_cache") != std::string_view::npos && call.has(argument))
        throw bad_input("the argument '{}' is not supported: runs keep no cache", argument);
    const bool crosses = call.has("encoder_sequence");
    if (crosses != (cross_attention_ != nullptr))
      throw bad_input("the layer was built {} an encoder sequence, but is called {}", crosses ? "without" : "with",
                      crosses ? "with one" : "without one");

    const LayerScope scope(call.lowering(), name);
    const TensorPtr decoder = call.tensor("decoder_sequence");
    // In a decode step no token is padding.
    const bool decodes = call.lowering().decoding != nullptr;
    const Arg self_mask =
        decodes ? Arg() : merged_mask(call, decoder, "decoder_padding_mask", "decoder_attention_mask");
    TensorPtr x = residual(call, decoder, *self_attention_norm_, *self_attention_dropout_, [&](const TensorPtr& in) {
      return apply(call, *self_attention_, {},
                   {{"query", in},
                    {"value", in},
                    {"attention_mask", self_mask},
                    {"use_causal_mask", call.flag("use_causal_mask", true)}});
    });
    if (crosses) {
      const TensorPtr encoder = call.tensor("encoder_sequence");
      const Arg cross_mask = merged_mask(call, encoder, "encoder_padding_mask", "encoder_attention_mask");
      x = residual(call, x, *cross_attention_norm_, *cross_attention_dropout_, [&](const TensorPtr& in) {
        return apply(call, *cross_attention_, {}, {{"query", in}, {"value", encoder}, {"attention_mask", cross_mask}});
      });
    }
    return feed_forward(call, x);
  }

 private:
  const char* attention_;  // the class
  std::optional<Shape> decoder_sequence_shape, encoder_sequence_shape;
  Layer* cross_attention_ = nullptr;
  Layer* cross_attention_norm_ = nullptr;
  Layer* cross_attention_dropout_ = nullptr;
};

/// Mixes positions and features by a Fourier transform instead of attention (Lee-Thorp et al., "FNet: Mixing Tokens
/// with Fourier Transforms", 2021).
class FNetEncoder : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }

  void build(Weights&, Call& call) override {
    const Shape in = call.shape("inputs");
    if (in.rank() < 2 || in.back() == kUnknown)
      throw bad_input("expected an input (…, length, width), got {}", in.str());
    const Json epsilon = {{"epsilon", layer_norm_epsilon.value}};
    mixing_norm_ = &make("LayerNormalization", "mixing_layer_norm", "_mixing_layer_norm", epsilon);
    output_norm_ = &make("LayerNormalization", "output_layer_norm", "_output_layer_norm", epsilon);
    intermediate_dense_ = &make_dense("intermediate_dense", "_intermediate_dense", intermediate_dim, activation.json);
    output_dense_ = &make_dense("output_dense", "_output_dense", in.back(), "linear");
    output_dropout_ = &make("Dropout", "output_dropout", "_output_dropout", {{"rate", dropout.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr inputs = call.tensor("inputs");
    // In float32 for any policy, and only the real part.
    const Complex mixed = fourier_2d({Expression{b, inputs->id}.cast(DType::float32)});
    const TensorPtr mixing = Call::result(b.cast(mixed.real, b.dtype(inputs->id)));
    const TensorPtr x = apply(call, *mixing_norm_, {sum(call, inputs, mixing)});
    const TensorPtr forward = apply(call, *output_dense_, {apply(call, *intermediate_dense_, {x})});
    return apply(call, *output_norm_, {sum(call, x, apply(call, *output_dropout_, {forward}))});
  }

 private:
  Layer& make_dense(const char* called, const char* attribute, std::int64_t units, const Json& function) {
    return make("Dense", called, attribute,
                {{"units", units},
                 {"activation", function},
                 {"kernel_initializer", kernel_initializer.json},
                 {"bias_initializer", bias_initializer.json}});
  }

  Positive intermediate_dim;
  Number dropout = 0;
  Activation activation = *Activation::named("relu");
  Number layer_norm_epsilon = 1e-5;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Layer* mixing_norm_ = nullptr;
  Layer* output_norm_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
  Layer* output_dropout_ = nullptr;
};

constexpr std::array kKerasHubTransformerClasses = {
    ClassInfo{.name = "TransformerEncoder",
              .make = make_layer<TransformerEncoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.transformer_encoder",
              .role = Role::transformer,
              .package = "keras_hub"},
    ClassInfo{.name = "TransformerDecoder",
              .make = make_layer<TransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.transformer_decoder",
              .role = Role::transformer,
              .package = "keras_hub"},
    ClassInfo{.name = "FNetEncoder",
              .make = make_layer<FNetEncoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.f_net_encoder",
              .role = Role::transformer,
              .package = "keras_hub"},
};

}  // namespace

LayerPtr make_transformer_encoder(const char* attention) { return std::make_unique<TransformerEncoder>(attention); }
LayerPtr make_transformer_decoder(const char* attention) { return std::make_unique<TransformerDecoder>(attention); }

Family keras_hub_transformer_classes() { return kKerasHubTransformerClasses; }

}  // namespace attn::keras
