// Letters: see head_attention.h; R rotated features of a head.
#include "families/blocks/sound/moonshine_layers.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "classes/decoding.h"
#include "classes/layers/attention/cached_attention.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/padding_mask.h"
#include "classes/layers/attention/rotary.h"
#include "classes/ops/expression.h"
#include "config/bounds.h"
#include "families/blocks/automatic_names.h"
#include "families/blocks/sound/audio_converters.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns every second feature of x, from `first` on.
Expression every_second(const Expression& x, Dim first) {
  graph::Slice slice{std::vector<graph::Range>(static_cast<std::size_t>(x.shape().rank()))};
  slice.ranges.back() = {first, {}, 2};
  return {*x.builder, x.builder->apply(slice, {x})};
}

/// Returns the first features of x up to `end`, or those from `begin` on.
Expression features_in(const Expression& x, std::optional<Dim> begin, std::optional<Dim> end) {
  graph::Slice slice{std::vector<graph::Range>(static_cast<std::size_t>(x.shape().rank()))};
  slice.ranges.back() = {begin, end, 1};
  return {*x.builder, x.builder->apply(slice, {x})};
}

/// Rotates the pairs (2i, 2i + 1) of the first R features of x (B,T,N,H) by the angles (T,R) of its positions.
ValueId turned_pairs(Builder& b, ValueId x, ValueId angles) {
  const Expression all(b, x), freqs(b, angles);
  const Dim length = all.shape()[1], rotated = freqs.shape()[1];
  const Expression by(b, b.reshape(every_second(freqs, 0), {1, length, 1, rotated / 2}));
  const Expression cos = by.unary(graph::UnaryFn::cos).cast(all.dtype());
  const Expression sin = by.unary(graph::UnaryFn::sin).cast(all.dtype());
  const Expression head = features_in(all, {}, rotated), even = every_second(head, 0), odd = every_second(head, 1);
  const ValueId first = b.expand_dims(even * cos - odd * sin, -1), second = b.expand_dims(odd * cos + even * sin, -1);
  const ValueId pairs = b.reshape(b.apply(graph::Concat{4}, {first, second}), head.shape());
  if (rotated == all.shape()[3]) return pairs;
  return b.apply(graph::Concat{3}, {pairs, features_in(all, rotated, {})});
}

/// Positions 0, 1, … as long as the input: (T).
class Arange final : public Layer {
 public:
  Arg call(Call& call) override {
    const Dim length = call.shape("inputs")[1];
    return Call::result(call.builder().apply(graph::Iota{{length}, DType::int32, 0}, {}));
  }
};

/// The mask (B,T) of sequences (B,T,D) with their lengths (B).
class ComputeAttentionMask final : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"features_for_shape", "output_lengths"};
    return kNames;
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Shape in = call.shape("features_for_shape");
    const Expression at(b, b.apply(graph::Iota{{1, in[1]}, DType::int32, 1}, {}));
    const Expression lengths(b, b.expand_dims(call.tensor("output_lengths")->id, 1));
    return Call::result(at < lengths);
  }
};

/// The angles of positions (T), each twice: (T,R). The frequencies are a variable.
class MoonshineRotaryEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f("max_position_embeddings", max_position_embeddings);
    f("base_value", base_value);
    f("partial_rotary_factor", partial_rotary_factor);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"t"};
    return kNames;
  }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  void build(Weights& w, Call&) override {
    const Dim half = scaled_size(head_dim, partial_rotary_factor) / 2;
    check_turning(2 * half);
    if (half < 1)
      throw bad_input("{} of {} features of a head are rotated; expected at least two", partial_rotary_factor.value,
                      head_dim.value)
          .about("partial_rotary_factor");
    graph::Initializer frequencies;
    frequencies.class_name = "Constant";
    for (Dim i = 0; i < half; ++i) {
      const float exponent = static_cast<float>(i) / static_cast<float>(half);
      frequencies.values.push_back(1.0F / std::pow(static_cast<float>(base_value), exponent));
    }
    w.add("inv_freq", {half}, frequencies, false);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const TensorPtr positions = call.tensor("t");
    if (call.lowering().symbolic()) return positions;
    const Expression frequencies(b, call.raw_weight(0));
    const Expression at(b, b.expand_dims(b.cast(positions->id, frequencies.dtype()), -1));
    const ValueId angles = b.expand_dims(at * frequencies, -1);
    const ValueId twice = b.apply(graph::Concat{2}, {angles, angles});
    return Call::result(b.reshape(twice, {at.shape()[0], 2 * frequencies.shape()[0]}));
  }
  /// KerasHub's class inherits a compute_output_shape that returns the shape of the input.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override { return {{call.shape("t")}}; }

 private:
  Positive head_dim, max_position_embeddings = 2048;
  Number base_value = 10000, partial_rotary_factor{0.62};
};

/// The last argument is attn's own: whether a position sees only earlier ones.
class MoonshineMultiHeadAttention final : public HeadAttention {
 public:
  MoonshineMultiHeadAttention() { plain_ = true; }
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("key_dim", key_dim);
    f("attention_bias", use_bias);
    f("attention_dropout", dropout);
    f("kernel_initializer", kernel_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {
        "query", "value", "key", "rotary_embedding", "attention_mask", "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return heads_of(num_heads, key_dim); }

  void build(Weights& w, Call& call) override {
    const Dim width = call.shape("query").back(), source = call.shape("value").back();
    const Shape heads{num_heads, key_dim};
    query_ = declare(w, "query", "query_dense", {width}, heads);
    key_ = declare(w, "key", "key_dense", {source}, heads);
    value_ = declare(w, "value", "value_dense", {source}, heads);
    output_ = declare(w, "attention_output", "output_dense", heads, {width});
  }

  Arg call(Call& call) override {
    const ValueId query = turned(call, project(call, call.tensor("query")->id, query_));
    const Decoding* const decoding = call.lowering().decoding;
    const bool crosses = !call.has("rotary_embedding");
    if (decoding != nullptr && crosses) return attend_to_encoder(call, query, *decoding->encoder);
    const ValueId given = call.tensor("value")->id;
    const ValueId key = turned(call, project(call, given, key_)), value = project(call, given, value_);
    const auto attended = attend(call, query, key, value, masks(call, {}), key_dim, path(call, 4), causality(call));
    return results(call, project(call, attended.context, output_, 2), attended, {});
  }

 private:
  [[nodiscard]] static ValueId turned(Call& call, ValueId heads) {
    if (!call.has("rotary_embedding") || call.lowering().symbolic()) return heads;
    return turned_pairs(call.builder(), heads, call.tensor("rotary_embedding")->id);
  }
  Arg attend_to_encoder(Call& call, ValueId query, const EncoderSequences& encoder) const {
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(key_dim.value));
    how.path = path(call, 4);
    how.masks = masks(call, {});
    std::optional<EncodedKeys> read;
    if (encoder.input) {
      const ValueId encoded = call.tensor("value")->id;
      read = EncodedKeys{project(call, encoded, key_), project(call, encoded, value_)};
    }
    return Call::result(project(call, attend_encoded(call, query, read, num_heads, key_dim, how), output_, 2));
  }

  Positive num_heads, key_dim;
};

/// Two dense layers. With `use_swiglu_activation`, the second half of the first one's result is a gate.
class MoonshineMLP final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("feedforward_expansion_factor", feedforward_expansion_factor);
    f("use_swiglu_activation", use_swiglu_activation);
    f("initializer_range", initializer_range);
  }
  void build(Weights&, Call&) override {
    const auto dense = [&](const char* called, std::int64_t units) {
      return &make(
          "Dense", called, called,
          {{"units", units}, {"kernel_initializer", normal_initializer("TruncatedNormal", initializer_range)}});
    };
    dense_1_ = dense("dense_1", hidden_dim * feedforward_expansion_factor * (use_swiglu_activation ? 2 : 1));
    dense_2_ = dense("dense_2", hidden_dim);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    Expression x(b, apply(call, *dense_1_, {call.tensor("inputs")})->id);
    if (use_swiglu_activation) {
      const Dim half = hidden_dim * feedforward_expansion_factor;
      x = features_in(x, {}, half) * features_in(x, half, {}).unary(graph::UnaryFn::silu);
    } else {
      x = x.unary(graph::UnaryFn::gelu);
    }
    return apply(call, *dense_2_, {Call::result(x)});
  }

 private:
  Positive hidden_dim, feedforward_expansion_factor;
  bool use_swiglu_activation = true;
  Number initializer_range{0.02};
  Layer* dense_1_ = nullptr;
  Layer* dense_2_ = nullptr;
};

/// The common part of the encoder's and the decoder's blocks, which normalize the input of each part.
class MoonshineBlock : public NamedParts {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("head_dim", head_dim);
    f("feedforward_expansion_factor", feedforward_expansion_factor);
    f("use_swiglu_activation", use_swiglu_activation);
    f("initializer_range", initializer_range);
    f("attention_bias", attention_bias);
    f("attention_dropout", attention_dropout);
    part_names(f);
  }

 protected:
  [[nodiscard]] static Json norm_arguments() { return {{"epsilon", 1e-5}, {"center", false}}; }
  [[nodiscard]] Json attention_arguments() const {
    return {{"num_heads", num_heads.value},
            {"key_dim", head_dim.value},
            {"attention_bias", attention_bias},
            {"attention_dropout", attention_dropout.value},
            {"kernel_initializer", normal_initializer("TruncatedNormal", initializer_range)}};
  }
  [[nodiscard]] Json mlp_arguments() const {
    return {{"hidden_dim", hidden_dim.value},
            {"feedforward_expansion_factor", feedforward_expansion_factor.value},
            {"use_swiglu_activation", use_swiglu_activation},
            {"initializer_range", initializer_range.value}};
  }
  static TensorPtr attended(Call& call, Layer& attention, const TensorPtr& query, const TensorPtr& value,
                            ArgDict more) {
    more.emplace_back("query", query);
    more.emplace_back("value", value);
    return apply(call, attention, {}, std::move(more));
  }

  Positive hidden_dim, num_heads, head_dim, feedforward_expansion_factor = 4;
  bool use_swiglu_activation = false, attention_bias = false;
  Number initializer_range{0.02}, attention_dropout{0.0};
};

class MoonshineEncoderBlock final : public MoonshineBlock {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"inputs", "rotary_embedding", "attention_mask",
                                                               "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    attention_ =
        &make("MoonshineMultiHeadAttention", "self_attention_layer", "self_attention_layer", attention_arguments());
    attention_norm_ =
        &make("LayerNormalization", "self_attention_layer_norm", "self_attention_layer_norm", norm_arguments());
    norm_ = &make("LayerNormalization", "feedforward_layer_norm", "feedforward_layer_norm", norm_arguments());
    mlp_ = &make("MoonshineMLP", "feedforward", "feedforward", mlp_arguments());
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("inputs"), normal = apply(call, *attention_norm_, {in});
    ArgDict more{{"rotary_embedding", call.arg("rotary_embedding")}};
    if (const TensorPtr mask = call.optional_tensor("attention_mask"))
      more.emplace_back("attention_mask", Call::result(call.builder().expand_dims(mask->id, 1)));  // (B,1,S)
    const TensorPtr x = sum(call, attended(call, *attention_, normal, normal, std::move(more)), in);
    return sum(call, apply(call, *mlp_, {apply(call, *norm_, {x})}), x);
  }

 private:
  Layer* attention_ = nullptr;
  Layer* attention_norm_ = nullptr;
  Layer* norm_ = nullptr;
  Layer* mlp_ = nullptr;
};

class MoonshineDecoderBlock final : public MoonshineBlock {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 7> kNames = {
        "decoder_sequence",     "encoder_sequence",     "rotary_embedding", "encoder_attention_mask",
        "decoder_padding_mask", "encoder_padding_mask", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const char* const attention = "MoonshineMultiHeadAttention";
    norm_1_ = &make_part("LayerNormalization", "norm1", norm_arguments());
    self_attention_ = &make_part(attention, "self_attention", attention_arguments());
    norm_2_ = &make_part("LayerNormalization", "norm2", norm_arguments());
    cross_attention_ = &make_part(attention, "cross_attention", attention_arguments());
    norm_3_ = &make_part("LayerNormalization", "norm3", norm_arguments());
    mlp_ = &make_part("MoonshineMLP", "ff", mlp_arguments());
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("decoder_sequence"), encoded = call.tensor("encoder_sequence");
    TensorPtr normal = apply(call, *norm_1_, {in});
    // In a decode step no token is padding.
    const bool decodes = call.lowering().decoding != nullptr;
    ArgDict own{{"rotary_embedding", call.arg("rotary_embedding")}, {"use_causal_mask", true}};
    if (!decodes) own.emplace_back("attention_mask", merged_mask(call, in, "decoder_padding_mask", ""));
    TensorPtr x = sum(call, attended(call, *self_attention_, normal, normal, std::move(own)), in);
    normal = apply(call, *norm_2_, {x});
    const ArgDict across{
        {"attention_mask", merged_mask(call, encoded, "encoder_padding_mask", "encoder_attention_mask")}};
    x = sum(call, attended(call, *cross_attention_, normal, encoded, across), x);
    return sum(call, apply(call, *mlp_, {apply(call, *norm_3_, {x})}), x);
  }

 private:
  Layer* norm_1_ = nullptr;
  Layer* self_attention_ = nullptr;
  Layer* norm_2_ = nullptr;
  Layer* cross_attention_ = nullptr;
  Layer* norm_3_ = nullptr;
  Layer* mlp_ = nullptr;
};

constexpr ClassInfo record(std::string_view name, LayerPtr (*make)(), std::string_view module, Role role,
                           std::string_view symbols = "") {
  return {.name = name,
          .make = make,
          .since = kAnyKeras,
          .module = module,
          .role = role,
          .package = "keras_hub",
          .symbols = symbols};
}

constexpr std::string_view kBackboneModule = "keras_hub.src.models.moonshine.moonshine_backbone",
                           kLayersModule = "keras_hub.src.models.moonshine.moonshine_layers";

}  // namespace

constinit const std::array<ClassInfo, 8> kMoonshineLayers = {
    // keras.ops has a class of the same name.
    ClassInfo{.name = "MoonshineArange",
              .make = make_layer<Arange>,
              .since = kAnyKeras,
              .module = kBackboneModule,
              .role = Role::arrangement,
              .shown = "Arange"},
    record("ComputeAttentionMask", make_layer<ComputeAttentionMask>, kBackboneModule, Role::arrangement),
    record("MoonshineRotaryEmbedding", make_layer<MoonshineRotaryEmbedding>, kLayersModule, Role::embedding,
           "inv_freq: -"),
    record("MoonshineMultiHeadAttention", make_layer<MoonshineMultiHeadAttention>,
           "keras_hub.src.models.moonshine.moonshine_multi_head_attention", Role::attention, kMultiHeadSymbols),
    record("MoonshineMLP", make_layer<MoonshineMLP>, kLayersModule, Role::other),
    record("MoonshineEncoderBlock", make_layer<MoonshineEncoderBlock>,
           "keras_hub.src.models.moonshine.moonshine_encoder", Role::transformer),
    record("MoonshineAudioConverter", make_moonshine_audio_converter,
           "keras_hub.src.models.moonshine.moonshine_audio_converter", Role::arrangement),
    record("MoonshineDecoderBlock", make_layer<MoonshineDecoderBlock>,
           "keras_hub.src.models.moonshine.moonshine_decoder", Role::transformer),
};

}  // namespace attn::keras
