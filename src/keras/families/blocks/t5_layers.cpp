// Letters: see head_attention.h.
#include "families/blocks/t5_layers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "classes/composite.h"
#include "classes/decoding.h"
#include "classes/layers/attention/attend.h"
#include "classes/layers/layers.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::ValueId;

Json normal(double stddev) {
  Json out = Initializer("RandomNormal").json;
  out["config"]["stddev"] = stddev;
  return out;
}

/// Computes weight·x/√(mean(x²) + ε), in the dtype of x.
class T5LayerNorm final : public Layer {
 public:
  void fields(Fields& f) override { f("epsilon", epsilon); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
    return kNames;
  }
  void build(Weights& w, Call& call) override {
    w.add("weight", {call.shape("hidden_states").back()}, Initializer("ones"));
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression x(b, call.tensor("hidden_states")->id);
    const int last = x.shape().rank() - 1;
    if (x.dtype() == DType::float32 || x.dtype() == DType::float64)
      return Call::result(
          b.apply(graph::LayerNorm{graph::NormKind::rms, {last}, epsilon, true, false}, {x, call.weight(0)}));
    const Expression variance = square(x).reduced({graph::ReduceFn::mean, {last}, true});
    return Call::result(Expression(b, call.weight(0)) * (x * (variance + epsilon.value).unary(graph::UnaryFn::rsqrt)));
  }

 private:
  Number epsilon{1e-6};
};

/// Attention without a scale. The first layer of a stack holds a bias for each head and bucket of distances.
class T5MultiHeadAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("is_decoder", is_decoder);
    f.required("hidden_dim", hidden_dim);
    f.required("key_value_dim", key_value_dim);
    f.required("num_heads", num_heads);
    f.required("dropout", dropout);
    f("use_relative_attention_bias", use_relative_attention_bias);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 7> kNames = {
        "hidden_states", "mask", "key_value_states", "position_bias", "cache", "cache_update_index", "training"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, key_value_dim}; }

  void build(Weights& w, Call&) override {
    const auto inner = static_cast<double>(num_heads * key_value_dim);
    if (use_relative_attention_bias) {
      Initializer initializer("RandomNormal");
      initializer.value.stddev = 1.0 / std::sqrt(inner);
      w.add("/" + name + "/embeddings", {kBuckets, num_heads}, initializer);
    }
    const auto dense = [&](const char* called, std::int64_t units, double variance) {
      return &make("Dense", called, called,
                   {{"units", units}, {"use_bias", false}, {"kernel_initializer", normal(1.0 / std::sqrt(variance))}});
    };
    const std::int64_t units = num_heads * key_value_dim;
    query_projector_ = dense("query_projector", units, inner * static_cast<double>(key_value_dim.value));
    key_projector_ = dense("key_projector", units, inner);
    value_projector_ = dense("value_projector", units, inner);
    output_projector_ = dense("output_projector", hidden_dim, inner);
  }

  /// Returns the attention output, and the bias for the following layers.
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("hidden_states");
    const Decoding* decoding = call.lowering().decoding;
    const bool crosses = call.has("key_value_states");
    const ValueId query = heads_of(call, *query_projector_, x);
    AttentionOptions how;
    how.scores = call.lowering().want_scores;
    if (crosses) how.masks = masks(call);
    if (crosses && decoding != nullptr) {
      std::optional<EncodedKeys> read;
      if (decoding->encoder->input) {
        const TensorPtr encoded = call.tensor("key_value_states");
        read = EncodedKeys{heads_of(call, *key_projector_, encoded), heads_of(call, *value_projector_, encoded)};
      }
      const ValueId context = attend_encoded(call, query, read, num_heads, key_value_dim, how);
      return ArgList{joined(call, context), Arg()};
    }
    const TensorPtr source = crosses ? call.tensor("key_value_states") : x;
    const ValueId key = heads_of(call, *key_projector_, source), value = heads_of(call, *value_projector_, source);
    TensorPtr bias;
    if (!crosses) {
      bias = call.optional_tensor("position_bias");
      if (bias == nullptr) bias = Call::result(position_bias(call));
      how.causal = decoding != nullptr && is_decoder;
      if (!call.lowering().symbolic()) how.bias = b.cast(bias->id, b.dtype(query));
    }
    const Attended attended = attend(call, query, key, value, how);
    if (attended.scores != graph::kNone) call.lowering().add_scores(attended.scores);
    return ArgList{joined(call, attended.context), bias == nullptr ? Arg() : Arg(bias)};
  }

 private:
  static constexpr std::int64_t kBuckets = 32, kMaxDistance = 128;

  /// Returns the projected x (B,T,N,H).
  [[nodiscard]] ValueId heads_of(Call& call, Layer& projector, const TensorPtr& x) const {
    const Shape in = call.shape(x);
    return call.builder().reshape(apply(call, projector, {x})->id, {in[0], in[1], num_heads, key_value_dim});
  }
  [[nodiscard]] TensorPtr joined(Call& call, ValueId context) const {
    graph::Builder& b = call.builder();
    const Shape in = b.shape(context);
    const ValueId flat = b.reshape(context, {in[0], in[1], num_heads * key_value_dim});
    return apply(call, *output_projector_, {Call::result(flat)});
  }
  static std::vector<ValueId> masks(Call& call) {
    const TensorPtr mask = call.optional_tensor("mask");  // (B,1 or T,S)
    graph::Builder& b = call.builder();
    if (mask == nullptr) return {};
    return {b.cast(b.expand_dims(mask->id, 1), DType::boolean)};
  }

  /// Returns the bucket of a distance in positions. Small distances have a bucket each; larger ones share
  /// logarithmically spaced buckets.
  static std::int64_t bucket(std::int64_t distance, std::int64_t buckets) {
    const std::int64_t exact = buckets / 2;
    if (distance < exact) return distance;
    const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                        std::log(static_cast<float>(kMaxDistance) / static_cast<float>(exact));
    return std::min(exact + static_cast<std::int64_t>(share * static_cast<float>(buckets - exact)), buckets - 1);
  }

  /// Returns the bias of the scores for the distances of positions: (1,N,T,S). For whole sequences with a mask it is
  /// (B,N,T,S), with −1e9 added for hidden keys.
  [[nodiscard]] ValueId position_bias(Call& call) const {
    graph::Builder& b = call.builder();
    const Shape in = call.shape("hidden_states");
    const DType dtype = call.compute_dtype();
    if (call.lowering().symbolic()) return b.apply(graph::Fill{{kUnknown, num_heads, in[1], in[1]}, dtype, 0.0}, {});
    const Decoding* decoding = call.lowering().decoding;
    if (decoding != nullptr) return rows_of(call, buckets_behind(call, *decoding));
    Tensor buckets = table(DType::int32, {in[1], in[1]}, "the distances of positions");
    for (Dim t = 0; t < in[1]; ++t)
      for (Dim s = 0; s < in[1]; ++s) buckets.set(t * in[1] + s, static_cast<double>(bucket_between(t, s)));
    const Expression bias(b, rows_of(call, b.constant(std::move(buckets))));
    const TensorPtr mask = call.optional_tensor("mask");
    if (mask == nullptr) return bias;
    const Expression seen(b, b.cast(b.expand_dims(mask->id, 1), bias.dtype()));
    return bias + (1.0 - seen) * -1e9;
  }

  [[nodiscard]] std::int64_t bucket_between(Dim query, Dim key) const {
    if (is_decoder) return bucket(std::max<Dim>(query - key, 0), kBuckets);
    return bucket(std::abs(query - key), kBuckets / 2) + (key > query ? kBuckets / 2 : 0);
  }

  /// Returns the buckets (T,S) of the distances from new tokens back to cache positions.
  static ValueId buckets_behind(Call& call, const Decoding& decoding) {
    graph::Builder& b = call.builder();
    Tensor buckets = table(DType::int32, {decoding.capacity}, "the distances of positions");
    for (Dim n = 0; n < decoding.capacity; ++n) buckets.set(n, static_cast<double>(bucket(n, kBuckets)));
    const Expression query(b, b.reshape(decoding.positions, {b.shape(decoding.positions)[1], 1}));
    const Expression key(b, b.apply(graph::Iota{{1, decoding.capacity}, DType::int32, 1}, {}));
    const Expression distance = query - key;
    return b.apply(graph::Gather{0}, {b.constant(std::move(buckets)), max(distance, distance.number(0.0))});
  }

  /// Returns the bias (1,N,T,S) that belongs to buckets (T,S).
  [[nodiscard]] ValueId rows_of(Call& call, ValueId buckets) const {
    graph::Builder& b = call.builder();
    if (!use_relative_attention_bias) {
      const Shape in = b.shape(buckets);
      return b.apply(graph::Fill{{1, num_heads, in[0], in[1]}, call.compute_dtype(), 0.0}, {});
    }
    const ValueId rows = b.apply(graph::Gather{0}, {call.weight(0), buckets});  // (T,S,N)
    return b.expand_dims(b.transpose(rows, {2, 0, 1}), 0);
  }

  bool is_decoder = false, use_relative_attention_bias = false;
  Positive hidden_dim, key_value_dim, num_heads;
  Number dropout;
  Layer* query_projector_ = nullptr;
  Layer* key_projector_ = nullptr;
  Layer* value_projector_ = nullptr;
  Layer* output_projector_ = nullptr;
};

/// A block of the encoder, or of the decoder, which also attends to the encoder's output.
class T5TransformerLayer final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("is_decoder", is_decoder);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("key_value_dim", key_value_dim);
    f.required("dropout", dropout);
    f.required("activation", activation);
    f.required("layer_norm_epsilon", layer_norm_epsilon);
    f.required("num_heads", num_heads);
    f("use_gated_activation", use_gated_activation);
    f("use_relative_attention_bias", use_relative_attention_bias);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 11> kNames = {"hidden_states",
                                                                "attention_mask",
                                                                "position_bias",
                                                                "encoder_hidden_states",
                                                                "encoder_attention_mask",
                                                                "use_causal_mask",
                                                                "self_attention_cache",
                                                                "self_attention_cache_update_index",
                                                                "cross_attention_cache",
                                                                "cross_attention_cache_update_index",
                                                                "training"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const auto attention = [&](const char* called, bool biased) {
      return &make("T5MultiHeadAttention", called, called,
                   {{"is_decoder", is_decoder},
                    {"hidden_dim", hidden_dim.value},
                    {"key_value_dim", key_value_dim.value},
                    {"num_heads", num_heads.value},
                    {"dropout", dropout.value},
                    {"use_relative_attention_bias", biased}});
    };
    const auto norm = [&](const char* attribute) {
      return &make("T5LayerNorm", call.lowering().automatic_name("T5LayerNorm"), attribute,
                   {{"epsilon", layer_norm_epsilon.value}});
    };
    const auto dense = [&](const char* called, std::int64_t units, const Json& function, std::int64_t fan_in) {
      return &make("Dense", called, called,
                   {{"units", units},
                    {"use_bias", false},
                    {"activation", function},
                    {"kernel_initializer", normal(1.0 / std::sqrt(static_cast<double>(fan_in)))}});
    };
    self_attention_ = attention("self_attention", use_relative_attention_bias);
    self_attention_layer_norm_ = norm("self_attention_layer_norm");
    if (is_decoder) {
      cross_attention_ = attention("cross_attention", false);
      cross_attention_layer_norm_ = norm("cross_attention_layer_norm");
    }
    input_projector_ = dense("input_projector", intermediate_dim, activation.json, hidden_dim);
    if (use_gated_activation) gate_projector_ = dense("gate_projector", intermediate_dim, "linear", hidden_dim);
    output_projector_ = dense("output_projector", hidden_dim, "linear", intermediate_dim);
    layer_norm_ = norm("layer_norm");
  }

  Arg call(Call& call) override {
    for (const std::string_view argument : arguments())
      if (argument.find("_cache") != std::string_view::npos && call.has(argument))
        throw bad_input("the argument '{}' is not supported: runs keep their caches themselves", argument);
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("hidden_states");
    ArgDict kwargs;
    if (call.has("position_bias")) {
      kwargs.emplace_back("position_bias", call.arg("position_bias"));
    } else if (const Arg mask = self_mask(call, in); !mask.is_none()) {
      kwargs.emplace_back("mask", mask);
    }
    const auto results = parts(call, *self_attention_, *self_attention_layer_norm_, in, kwargs);
    TensorPtr x = sum(call, results[0], in);
    if (is_decoder) {
      ArgDict encoded = {{"key_value_states", call.tensor("encoder_hidden_states")}};
      if (call.has("encoder_attention_mask")) encoded.emplace_back("mask", call.arg("encoder_attention_mask"));
      x = sum(call, parts(call, *cross_attention_, *cross_attention_layer_norm_, x, encoded)[0], x);
    }
    const TensorPtr normal = apply(call, *layer_norm_, {x});
    TensorPtr inner = apply(call, *input_projector_, {normal});
    if (use_gated_activation)
      inner = Call::result(
          call.builder().binary(graph::BinaryFn::multiply, inner->id, apply(call, *gate_projector_, {normal})->id));
    return ArgList{sum(call, apply(call, *output_projector_, {inner}), x), results[1]};
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("hidden_states");
    return std::vector{in, Shape{in[0], num_heads, in[1], in[1]}};
  }

 private:
  static std::vector<TensorPtr> parts(Call& call, Layer& attention, Layer& norm, const TensorPtr& x,
                                      const ArgDict& kwargs) {
    return tensors_of(call.lowering().apply(attention, ArgList{apply(call, norm, {x})}, kwargs));
  }

  /// Returns the mask of the first layer in a stack, (B,1 or T,S); None for a decode step, which needs none.
  static Arg self_mask(Call& call, const TensorPtr& x) {
    if (call.lowering().decoding != nullptr) return Arg();
    const TensorPtr given = call.optional_tensor("attention_mask");
    if (!call.flag("use_causal_mask") || call.lowering().symbolic()) return given == nullptr ? Arg() : Arg(given);
    graph::Builder& b = call.builder();
    const Dim length = call.shape(x)[1];
    const Expression query(b, b.apply(graph::Iota{{1, length, 1}, DType::int32, 1}, {}));
    const Expression key(b, b.apply(graph::Iota{{1, 1, length}, DType::int32, 2}, {}));
    const Expression causal = key <= query;
    if (given == nullptr) return Call::result(causal);
    return Call::result(causal & Expression(b, b.cast(given->id, DType::boolean)));
  }

  bool is_decoder = false, use_gated_activation = false, use_relative_attention_bias = false;
  Positive hidden_dim, intermediate_dim, key_value_dim, num_heads;
  Number dropout, layer_norm_epsilon{1e-6};
  Activation activation;
  Layer* self_attention_ = nullptr;
  Layer* self_attention_layer_norm_ = nullptr;
  Layer* cross_attention_ = nullptr;
  Layer* cross_attention_layer_norm_ = nullptr;
  Layer* input_projector_ = nullptr;
  Layer* gate_projector_ = nullptr;
  Layer* output_projector_ = nullptr;
  Layer* layer_norm_ = nullptr;
};

}  // namespace

constinit const std::array<ClassInfo, 3> kT5Layers = {
    ClassInfo{.name = "T5LayerNorm",
              .make = make_layer<T5LayerNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5.t5_layer_norm",
              .role = Role::normalization,
              .symbols = "weight: d_model"},
    ClassInfo{.name = "T5MultiHeadAttention",
              .make = make_layer<T5MultiHeadAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5.t5_multi_head_attention",
              .role = Role::attention,
              .symbols = "embeddings: - h"},
    ClassInfo{.name = "T5TransformerLayer",
              .make = make_layer<T5TransformerLayer>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.t5.t5_transformer_layer",
              .role = Role::transformer},
};

}  // namespace attn::keras
