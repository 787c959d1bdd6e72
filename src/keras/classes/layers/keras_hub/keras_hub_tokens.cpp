// KerasHub's layers that convert tokens to features and back.
#include <array>

#include "classes/layers/keras_hub/masked_head.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"
#include "classes/ops/promotion.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Adds the embeddings of tokens and positions.
class TokenAndPositionEmbedding : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("sequence_length", sequence_length);
    f.required("embedding_dim", embedding_dim);
    f("embeddings_initializer", embeddings_initializer);
    f("tie_weights", tie_weights);
    f("mask_zero", mask_zero);
  }
  [[nodiscard]] bool supports_masking() const override { return mask_zero; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"inputs", "start_index", "positions"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    tokens_ = &make("ReversibleEmbedding", "token_embedding", "token_embedding",
                    {{"input_dim", vocabulary_size.value},
                     {"output_dim", embedding_dim.value},
                     {"tie_weights", tie_weights},
                     {"embeddings_initializer", embeddings_initializer.json},
                     {"mask_zero", mask_zero}});
    positions_ = &make("PositionEmbedding", "position_embedding", "position_embedding",
                       {{"sequence_length", sequence_length.value}, {"initializer", embeddings_initializer.json}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr tokens = apply(call, *tokens_, {call.tensor("inputs")});
    ArgDict where;
    for (const char* argument : {"start_index", "positions"})
      if (call.has(argument)) where.emplace_back(argument, call.arg(argument));
    const TensorPtr out = sum(call, tokens, apply(call, *positions_, {tokens}, where));
    out->mask = tokens->mask;
    return out;
  }

 private:
  Positive vocabulary_size, sequence_length, embedding_dim;
  bool tie_weights = true, mask_zero = false;
  Initializer embeddings_initializer{"uniform"};
  Layer* tokens_ = nullptr;
  Layer* positions_ = nullptr;
};

/// The logits, after `activation`, at selected positions of a sequence.
class MaskedLMHead : public MaskedHead {
 public:
  void fields(Fields& f) override {
    f("vocabulary_size", vocabulary_size);
    embedding_field(f);
    f("intermediate_activation", intermediate_activation);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  void check(const Ref& config) override {
    if (!token_embedding && !vocabulary_size) config.fail("one of 'vocabulary_size' and 'token_embedding' is needed");
    check_embedding(config);
  }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("inputs");
    if (in.rank() != 3 || in.back() == kUnknown)
      throw bad_input("expected an input (batch, length, features), got {}", in.str());
    if (!token_embedding) features_ = in.back();
    dense_ = &make("Dense", "intermediate_dense", "_intermediate_dense",
                   {{"units", features_},
                    {"activation", intermediate_activation.json},
                    {"kernel_initializer", kernel_initializer.json},
                    {"bias_initializer", bias_initializer.json}});
    norm_ = &make("LayerNormalization", "intermediate_layer_norm", "_intermediate_layer_norm",
                  {{"epsilon", layer_norm_epsilon.value}});
    if (!token_embedding) w.add("output_kernel", {features_, *vocabulary_size}, kernel_initializer);
    w.add("output_bias", {*vocabulary_size}, bias_initializer);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = apply(call, *norm_, {apply(call, *dense_, {masked(call)})});
    // The layer does not cast its variables, so half-precision features become float32 with a float32 bias.
    const auto together = [&](graph::ValueId y, int weight) {
      const ValueId variable = call.raw_weight(weight);
      const DType dtype = result_type({b.dtype(y), b.dtype(variable)});
      return std::pair{b.cast(y, dtype), b.cast(variable, dtype)};
    };
    ValueId logits;
    if (token_embedding) {
      logits = reversed(call, x)->id;
    } else {
      const auto [y, kernel] = together(x->id, 0);
      logits = b.apply(graph::MatMul{}, {y, kernel});
    }
    const auto [y, bias] = together(b.cast(logits, call.compute_dtype()), token_embedding ? 0 : 1);
    return Call::result(activation.apply(b, b.binary(graph::BinaryFn::add, y, bias)));
  }

 private:
  Activation intermediate_activation = *Activation::named("relu"), activation;
  Number layer_norm_epsilon = 1e-5;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Layer* dense_ = nullptr;
  Layer* norm_ = nullptr;
};

constexpr std::array kKerasHubTokenClasses = {
    ClassInfo{.name = "TokenAndPositionEmbedding",
              .make = make_layer<TokenAndPositionEmbedding>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.token_and_position_embedding",
              .role = Role::tokens,
              .package = "keras_hub"},
    ClassInfo{.name = "MaskedLMHead",
              .make = make_layer<MaskedLMHead>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.masked_lm_head",
              .package = "keras_hub",
              .symbols = "output_kernel: d_model V; output_bias: V"},
};

}  // namespace

Family keras_hub_token_classes() { return kKerasHubTokenClasses; }

}  // namespace attn::keras
