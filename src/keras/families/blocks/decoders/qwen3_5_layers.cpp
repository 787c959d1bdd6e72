#include "families/blocks/decoders/qwen3_5_layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/rotary.h"
#include "classes/ops/expression.h"
#include "config/bounds.h"
#include "families/blocks/recurrence.h"
#include "families/blocks/rms_norm.h"

// Letters: B batch, T tokens, D width, N query heads, K key/value heads, H head size.
namespace attn::keras {
namespace {

using graph::Builder;
using graph::UnaryFn;
using graph::ValueId;

/// Returns the features from `start` to `stop` of the last axis.
Expression features(const Expression& x, Dim start, Dim stop) {
  graph::Slice some;
  some.ranges.resize(static_cast<std::size_t>(x.shape().rank()));
  some.ranges.back() = {start, stop, 1};
  return {*x.builder, x.builder->apply(some, {x})};
}

/// An RMS norm whose variable is added to 1.
class Qwen3_5LayerNorm final : public Layer {
 public:
  void fields(Fields& f) override {
    f("head_dim", head_dim);
    f("epsilon", epsilon);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override {
    w.add("scale", {head_dim ? head_dim->value : call.shape("x").back()}, Initializer("zeros"));
  }
  Arg call(Call& call) override {
    return Call::result(normalized(call, call.tensor("x")->id, call.weight(0), epsilon));
  }
  static ValueId normalized(Call& call, ValueId x, ValueId scale, double epsilon) {
    Builder& b = call.builder();
    const DType wide = call.compute_dtype() == DType::float64 ? DType::float64 : DType::float32;
    const Expression factor = Expression(b, b.cast(scale, wide)) + 1.0;
    return rms_normalized(b, x, factor, epsilon, call.compute_dtype());
  }

 private:
  std::optional<Positive> head_dim;
  Number epsilon{1e-6};
};

/// Grouped attention whose result is multiplied by a sigmoid of a second half of the query projection. The first part
/// of the features of a head has rotary positions.
class Qwen3_5Attention final : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("head_dim", head_dim);
    f("partial_rotary_factor", partial_rotary_factor);
    f("rope_max_wavelength", rope_max_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
    f("kernel_initializer", kernel_initializer);
    f("dropout", dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("sliding_window_size", sliding_window_size);
    f("mrope_section", mrope_section);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    check_qwen3_5_rotary(config, head_dim, partial_rotary_factor, mrope_section);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_query_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                 num_query_heads.value, num_key_value_heads.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 7> kNames = {"hidden_states",      "attention_mask", "cache",
                                                               "cache_update_index", "position_ids",   "training",
                                                               "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_query_heads, head_dim}; }

  void build(Weights& w, Call& call) override {
    const Shape width{call.shape("hidden_states").back()};
    const Shape heads{num_query_heads, head_dim}, shared{num_key_value_heads, head_dim};
    const auto norm = [&](const char* called, const char* attribute) {
      int index = 0;
      w.scope(called, attribute, [&] { index = w.add("scale", {head_dim}, Initializer("zeros")); });
      return index;
    };
    query_ = declare(w, "query", "_query_dense", width, {num_query_heads, 2 * head_dim}, false);
    query_norm_ = norm("query_norm", "_query_norm");
    key_ = declare(w, "key", "_key_dense", width, shared, false);
    key_norm_ = norm("key_norm", "_key_norm");
    value_ = declare(w, "value", "_value_dense", width, shared, false);
    output_ = declare(w, "attention_output", "_output_dense", heads, width, false);
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("hidden_states")->id;
    const Expression both(b, project(call, x, query_));  // (B,T,N,2·H): queries, then gates
    const auto placed = [&](const Expression& heads, int norm) {
      const Expression normal(b, Qwen3_5LayerNorm::normalized(call, heads, call.weight(norm), layer_norm_epsilon));
      return turned_in_part(call, normal);
    };
    const ValueId query = placed(features(both, 0, head_dim), query_norm_);
    const ValueId key = placed(Expression(b, project(call, x, key_)), key_norm_), value = project(call, x, value_);
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(head_dim.value));
    how.path = softmax_path(call);
    how.causal = call.flag("use_causal_mask");
    if (sliding_window_size) how.window = sliding_window_size->value;
    how.masks = masks(call, std::nullopt);
    how.scores = call.lowering().want_scores;
    const Attended attended = keras::attend(call, query, key, value, how);
    const Expression gate = features(both, head_dim, 2 * head_dim).unary(UnaryFn::sigmoid);
    return results(call, project(call, Expression(b, attended.context) * gate, output_, 2), {attended, {}},
                   std::nullopt);
  }

 private:
  [[nodiscard]] ValueId turned_in_part(Call& call, const Expression& x) const {
    const Dim size = head_dim, turning = scaled_size(size, partial_rotary_factor);
    const Rotary rotary{inverse_frequencies(rope_max_wavelength, turning, rope_scaling_factor)};
    const Expression part = features(x, 0, turning);
    const TensorPtr positions = mrope_section ? call.optional_tensor("position_ids") : nullptr;
    const bool by_axes = positions != nullptr && !call.lowering().symbolic();
    const ValueId first = by_axes ? turned_by_axes(call, part, rotary, positions->id) : turned(call, part, rotary);
    if (turning == size) return first;
    return call.builder().apply(graph::Concat{3}, {first, features(x, turning, size)});
  }

  /// Turns pairs of features of x (B,T,N,R) by the positions (B,4,T) of tokens: their number in the text, then frame,
  /// row and column. Three neighboring pairs have one axis each, as far as `mrope_section` counts rows and columns.
  [[nodiscard]] ValueId turned_by_axes(Call& call, const Expression& x, const Rotary& rotary, ValueId positions) const {
    Builder& b = call.builder();
    const auto half = static_cast<Dim>(rotary.frequencies.size());
    const auto& angles = call.lowering().common(
        fmt::format("angles at %{} by {} {}", positions, fmt::join(*mrope_section, " "),
                    fmt::join(rotary.frequencies, " ")),
        [&] {
          Tensor scales(DType::float32, {3, 2 * half});
          for (Dim i = 0; i < 2 * half; ++i) {
            const Dim pair = i % half, axis = pair % 3;
            const bool counted = axis > 0 && pair < 3 * (*mrope_section)[static_cast<std::size_t>(axis)];
            scales.set((counted ? axis : 0) * 2 * half + i, rotary.frequencies[static_cast<std::size_t>(pair)]);
          }
          graph::Slice axes;
          axes.ranges = {{}, {1, 4, 1}, {}};
          const ValueId places = b.cast(b.apply(axes, {positions}), DType::float32);
          const Expression all(b, b.apply(graph::Einsum{"bat,ar->btr"}, {places, b.constant(std::move(scales))}));
          const auto of = [&](graph::UnaryFn fn) { return b.expand_dims(all.unary(fn), 2); };
          return std::vector{of(graph::UnaryFn::cos), of(graph::UnaryFn::sin)};
        });
    return turned(x.cast(DType::float32), {angles[0], angles[1]}).cast(x.dtype());
  }

  Positive num_query_heads, num_key_value_heads, head_dim;
  Number partial_rotary_factor = 0.25, rope_max_wavelength = 10000, rope_scaling_factor{1.0}, layer_norm_epsilon{1e-6};
  std::optional<Positive> sliding_window_size;
  std::optional<std::vector<std::int64_t>> mrope_section;  ///< pairs for frames, rows and columns
  int query_norm_ = 0, key_norm_ = 0;
};

/// Linear attention by the gated delta rule, after a causal convolution of queries, keys and values.
class Qwen3_5GatedDeltaNet final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    sizes_.fields(f);
    f("hidden_activation", hidden_activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
  }
  void check(const Ref& config) override { sizes_.check(config); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 5> kNames = {"hidden_states", "attention_mask", "cache",
                                                               "cache_update_index", "training"};
    return kNames;
  }

  void build(Weights& w, Call&) override {
    const auto dense = [&](const char* called, std::int64_t units) {
      return &make("Dense", called, called,
                   {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
    };
    const Dim heads = sizes_.linear_num_value_heads, values = heads * sizes_.linear_value_head_dim;
    kernel_ = w.add("conv1d_kernel", {mixed_size(), sizes_.linear_conv_kernel_dim}, Initializer("glorot_uniform"));
    step_bias_ = w.add("dt_bias", {heads}, Initializer("ones"));
    decay_log_ = w.add("A_log", {heads}, Initializer("zeros"));
    mixed_dense_ = dense("in_proj_qkv", mixed_size());
    gate_dense_ = dense("in_proj_z", values);
    rate_dense_ = dense("in_proj_b", heads);
    step_dense_ = dense("in_proj_a", heads);
    norm_ = &make("Qwen3_5RMSNormGated", "norm", "norm",
                  {{"head_dim", sizes_.linear_value_head_dim.value}, {"epsilon", layer_norm_epsilon.value}});
    output_dense_ = dense("out_proj", hidden_size);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    TensorPtr x = call.tensor("hidden_states");
    if (const TensorPtr mask = call.optional_tensor("attention_mask"))
      x = Call::result(Expression(b, x->id) * Expression(b, b.expand_dims(b.cast(mask->id, call.compute_dtype()), -1)));
    const auto dense = [&](Layer& layer) { return Expression(b, apply(call, layer, {x})->id); };
    const Expression mixed = convolved(call, dense(*mixed_dense_));
    const Dim keys = sizes_.linear_num_key_heads * sizes_.linear_key_head_dim;
    const auto by_head = [&](const Expression& y, Dim size) {
      const Shape in = y.shape();
      return Expression(b, b.reshape(y, {in[0], in[1], in[2] / size, size}));
    };
    const auto shared = [&](Dim start) {
      return repeated(unit(by_head(features(mixed, start, start + keys), sizes_.linear_key_head_dim)))
          .cast(DType::float32);
    };
    const Expression query = shared(0) * (1.0 / std::sqrt(static_cast<double>(sizes_.linear_key_head_dim.value)));
    const Expression key = shared(keys);
    const Expression value =
        by_head(features(mixed, 2 * keys, mixed_size()), sizes_.linear_value_head_dim).cast(DType::float32);
    const Expression rate(b, b.expand_dims(dense(*rate_dense_).unary(UnaryFn::sigmoid).cast(DType::float32), -1));
    const Expression decay(b, b.expand_dims(decay_of(call, dense(*step_dense_)), -1));  // (B,T,heads,1)

    const Shape in = value.shape();
    const ValueId decays = b.apply(graph::Broadcast{key.shape()}, {decay});
    const ValueId out = delta_rule(call, {query, decays, key, value * rate, key, -(key * (rate * decay))});
    const TensorPtr normal = apply(call, *norm_, {Call::result(b.cast(out, call.compute_dtype()))});
    const Expression gate = by_head(dense(*gate_dense_), sizes_.linear_value_head_dim).unary(UnaryFn::silu);
    const ValueId joined = b.reshape(Expression(b, normal->id) * gate, {in[0], in[1], in[2] * in[3]});
    return apply(call, *output_dense_, {Call::result(joined)});
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{call.shape("hidden_states")};
  }

 private:
  /// Returns the number of features of all queries, keys and values.
  [[nodiscard]] Dim mixed_size() const {
    return 2 * sizes_.linear_num_key_heads * sizes_.linear_key_head_dim +
           sizes_.linear_num_value_heads * sizes_.linear_value_head_dim;
  }
  /// silu of a causal convolution of each feature.
  [[nodiscard]] Expression convolved(Call& call, const Expression& x) const {
    Builder& b = call.builder();
    const Dim channels = mixed_size();
    const ValueId kernel =
        b.reshape(b.transpose(call.weight(kernel_), {1, 0}), {sizes_.linear_conv_kernel_dim, 1, channels});
    const bool decodes = call.lowering().decoding != nullptr;
    const ValueId read = decodes ? behind_earlier(call, x, sizes_.linear_conv_kernel_dim - 1) : x;
    const graph::Conv conv{{1}, {1}, decodes ? graph::Padding::valid : graph::Padding::causal, channels, false, {}};
    const Expression y(b, b.apply(conv, {read, kernel}));
    return y * y.unary(UnaryFn::sigmoid);
  }
  /// Divides vectors by their lengths.
  static Expression unit(const Expression& x) {
    const Expression squares = square(x).reduced({graph::ReduceFn::sum, {3}, true});
    return x * (squares + 1e-6).unary(UnaryFn::rsqrt);
  }
  /// Repeats each head of keys for the heads of values that share it.
  [[nodiscard]] Expression repeated(const Expression& x) const {
    const Dim times = sizes_.linear_num_value_heads / sizes_.linear_num_key_heads;
    if (times == 1) return x;
    Builder& b = *x.builder;
    const Shape in = x.shape();
    const ValueId each = b.reshape(x, {in[0], in[1], in[2], 1, in[3]});
    return {b, b.reshape(b.apply(graph::Broadcast{{in[0], in[1], in[2], times, in[3]}}, {each}),
                         {in[0], in[1], in[2] * times, in[3]})};
  }
  /// exp(−e^A·softplus(step + bias)), in float32.
  [[nodiscard]] Expression decay_of(Call& call, const Expression& step) const {
    Builder& b = call.builder();
    const auto wide = [&](int weight) { return Expression(b, b.cast(call.weight(weight), DType::float32)); };
    const Expression size = (step.cast(DType::float32) + wide(step_bias_)).unary(UnaryFn::softplus);
    return exp(-(exp(wide(decay_log_)) * size));
  }

  Positive hidden_size;
  Qwen3_5LinearFields sizes_;
  Opaque hidden_activation{"silu"};  // KerasHub does not read it
  Number layer_norm_epsilon{1e-6};
  Initializer kernel_initializer{"glorot_uniform"};
  int kernel_ = 0, step_bias_ = 0, decay_log_ = 0;
  Layer* mixed_dense_ = nullptr;
  Layer* gate_dense_ = nullptr;
  Layer* rate_dense_ = nullptr;
  Layer* step_dense_ = nullptr;
  Layer* norm_ = nullptr;
  Layer* output_dense_ = nullptr;
};

}  // namespace

void check_qwen3_5_rotary(const Ref& config, std::int64_t head_dim, double partial_rotary_factor,
                          const std::optional<std::vector<std::int64_t>>& mrope_section) {
  if (head_dim > (1 << 16)) config["head_dim"].fail("heads of more than 65536 features are not accepted");
  const double turning = static_cast<double>(head_dim) * partial_rotary_factor;
  if (!(turning >= 2.0) || partial_rotary_factor > 1.0 || static_cast<Dim>(turning) % 2 != 0)
    config["partial_rotary_factor"].fail(
        fmt::format("expected a part with an even number of the {} features of a head", head_dim));
  const auto is_count = [](std::int64_t count) { return count >= 0 && count <= (1 << 16); };
  if (mrope_section &&
      (mrope_section->size() != 3 || !std::all_of(mrope_section->begin(), mrope_section->end(), is_count)))
    config["mrope_section"].fail("expected null, or the pairs of features for frames, rows and columns");
}

LayerPtr make_qwen3_5_norm() { return std::make_unique<Qwen3_5LayerNorm>(); }
LayerPtr make_qwen3_5_attention() { return std::make_unique<Qwen3_5Attention>(); }
LayerPtr make_qwen3_5_delta_net() { return std::make_unique<Qwen3_5GatedDeltaNet>(); }

}  // namespace attn::keras
