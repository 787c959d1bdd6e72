// Letters: see head_attention.h.
#include "families/blocks/decoders/gemma4_attention.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "classes/layers/attention/rotary.h"
#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma_heads.h"
#include "families/blocks/rms_norm.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns x/√(mean(x²) + ε), computed in float32 or higher.
ValueId unit_rms(Call& call, ValueId x, double epsilon) {
  Builder& b = call.builder();
  const DType wide = b.dtype(x) == DType::float64 ? DType::float64 : DType::float32;
  const graph::LayerNorm norm{graph::NormKind::rms, {b.shape(x).rank() - 1}, epsilon, false, false};
  return b.cast(b.apply(norm, {b.cast(x, wide)}), call.compute_dtype());
}

/// An RMS norm without variables.
class Gemma4VNorm final : public Layer {
 public:
  void fields(Fields& f) override { f("epsilon", epsilon); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  Arg call(Call& call) override { return Call::result(unit_rms(call, call.tensor("x")->id, epsilon)); }

 private:
  Number epsilon{1e-6};
};

/// Grouped attention without a scale, with norms of queries, keys and values. It may take its keys and values from an
/// earlier layer, and its values may be the keys before their norm. A call also returns the keys and values.
class Gemma4TextAttention final : public GemmaHeads {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("kernel_initializer", kernel_initializer);
    f("logit_soft_cap", logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("rope_wavelength", rope_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
    f("use_bidirectional_attention", use_bidirectional_attention);
    f("is_global_attention", is_global_attention);
    f("is_kv_shared_layer", is_kv_shared_layer);
    f("attention_k_eq_v", attention_k_eq_v);
    f("num_global_key_value_heads", num_global_key_value_heads);
    f("dropout", dropout);
    f("rope_partial_rotary_factor", rope_partial_rotary_factor);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (num_query_heads % shared_heads() != 0)
      config["num_query_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                 num_query_heads.value, shared_heads()));
    if (head_dim % 2 != 0)
      config["head_dim"].fail(fmt::format("expected an even number for rotary positions, got {}", head_dim.value));
    if (logit_soft_cap && !(*logit_soft_cap > 0.0)) config["logit_soft_cap"].fail("expected a number > 0 or null");
    if (!(rope_wavelength > 0.0)) config["rope_wavelength"].fail("expected a number > 0");
    if (!(rope_scaling_factor > 0.0)) config["rope_scaling_factor"].fail("expected a number > 0");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 9> kNames = {
        "x",         "attention_mask", "cache",     "cache_update_index", "cache_update_mask",
        "shared_kv", "training",       "positions", "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_query_heads, head_dim}; }

  void build(Weights& w, Call& call) override {
    width_ = call.shape("x").back();
    const auto norm = [&](std::string_view called) {
      int index = 0;
      w.scope(called, called, [&] { index = w.add("scale", {head_dim}, Initializer("ones")); });
      return index;
    };
    const auto kernel = [&](std::string_view called, std::string_view attribute, Dim heads) {
      return declare_heads(w, called, attribute, {heads, width_, head_dim});
    };
    query_ = kernel("query", "query_dense", num_query_heads);
    if (!is_kv_shared_layer) {
      key_ = kernel("key", "key_dense", shared_heads());
      if (!values_are_keys()) value_ = kernel("value", "value_dense", shared_heads());
      key_norm_ = norm("key_norm");
    }
    query_norm_ = norm("query_norm");
    output_ = declare(w, "attention_output", "output_dense", {num_query_heads, head_dim}, {width_}, false);
  }

  Arg call(Call& call) override {
    const ValueId x = call.tensor("x")->id;
    AttentionOptions how;
    how.path = softmax_path(call);
    how.soft_cap = logit_soft_cap ? logit_soft_cap->value : 0.0;
    how.causal = call.flag("use_causal_mask");
    how.cached = true;
    how.masks = masks(call, std::nullopt);
    if (how.causal && use_sliding_window_attention) how.window = sliding_window_size.value;
    how.scores = call.lowering().want_scores;
    const ValueId query = placed(call, normalized(call, project_heads(call, x, query_), query_norm_));
    TensorPtr stack = call.optional_tensor("shared_kv");
    KeptKeys kept;
    if (!is_kv_shared_layer) {
      const ValueId raw = project_heads(call, x, key_), key = placed(call, normalized(call, raw, key_norm_));
      const ValueId value =
          unit_rms(call, values_are_keys() ? raw : project_heads(call, x, value_), layer_norm_epsilon);
      kept = keep(call, key, value);
      stack = stacked_keys(call, key, value, kept);
    } else if (stack) {
      kept = shared_keys(call, stack);
    } else {
      throw bad_input("a layer with is_kv_shared_layer needs the keys and values of another one, as 'shared_kv'");
    }
    Attended attended = attend_to(call, query, kept, how);
    attended.context = without_blind(call, attended.context, how);
    const Arg result = results(call, project(call, attended.context, output_, 2), {attended, {}}, std::nullopt);
    return ArgList{result, stack};
  }

 private:
  [[nodiscard]] bool values_are_keys() const { return attention_k_eq_v && !use_sliding_window_attention; }
  [[nodiscard]] std::int64_t shared_heads() const {
    return values_are_keys() && num_global_key_value_heads ? *num_global_key_value_heads : num_key_value_heads;
  }

  [[nodiscard]] ValueId normalized(Call& call, ValueId x, int scale) const {
    return rms_normalized(call.builder(), x, call.weight(scale), layer_norm_epsilon, call.compute_dtype());
  }

  /// Applies rotary positions. Pairs of features that have none turn by the angle 0.
  [[nodiscard]] ValueId placed(Call& call, ValueId heads) const {
    Rotary rotary{inverse_frequencies(rope_wavelength, head_dim, rope_scaling_factor)};
    if (rope_partial_rotary_factor < 1.0) {
      const auto turning = static_cast<Dim>(rope_partial_rotary_factor * static_cast<double>(head_dim.value));
      const Dim pairs = std::max<Dim>(turning / 2, 1);
      std::fill(rotary.frequencies.begin() + pairs, rotary.frequencies.end(), 0.0F);
    }
    const TensorPtr positions = call.optional_tensor("positions");
    if (!positions || call.lowering().symbolic()) return turned(call, heads, rotary);
    return turned(Expression(call.builder(), heads), angles_at(call, rotary, positions->id, 4));
  }

  /// Returns the context with zeros for queries that see no key. In float32 it has them already.
  static ValueId without_blind(Call& call, ValueId context, const AttentionOptions& how) {
    const bool is_whole = !call.lowering().symbolic() && call.lowering().decoding == nullptr;
    if (how.path == graph::AttentionPath::explicit_ || how.masks.empty() || !is_whole) return context;
    Builder& b = call.builder();
    const Dim length = b.shape(context)[1];
    const auto seen = combined(b, how.masks, {how.causal, how.window}, length, length, 4);  // (B,1,T,S)
    const Expression any = Expression(b, b.cast(*seen, DType::int32)).reduced({graph::ReduceFn::max, {3}, true});
    const Expression sees(b, b.transpose(any, {0, 2, 1, 3}));
    const Expression x(b, context);
    return where(sees > 0.0, x, x.number(0.0));
  }

  Positive head_dim, num_query_heads, num_key_value_heads, sliding_window_size = 4096;
  std::optional<Positive> num_global_key_value_heads;
  std::optional<Number> logit_soft_cap;
  bool use_sliding_window_attention = false, use_bidirectional_attention = false, is_global_attention = false,
       is_kv_shared_layer = false, attention_k_eq_v = false;
  Number layer_norm_epsilon{1e-6}, rope_wavelength{10000.0}, rope_scaling_factor{1.0}, rope_partial_rotary_factor{1.0};
  Dim width_ = 0;
  int query_norm_ = 0, key_norm_ = 0;
};

std::string name_of_stack(ValueId stack) { return fmt::format("keys and values in %{}", stack); }

}  // namespace

TensorPtr stacked_keys(Call& call, ValueId key, ValueId value, const KeptKeys& kept) {
  Builder& b = call.builder();
  const ValueId stack = b.apply(graph::Concat{1}, {b.expand_dims(key, 1), b.expand_dims(value, 1)});
  (void)call.lowering().common(name_of_stack(stack), [&] { return std::vector{kept.key, kept.value}; });
  return Call::result(stack);
}

KeptKeys shared_keys(Call& call, const TensorPtr& stack) {
  const std::vector<ValueId>& kept = call.lowering().common(name_of_stack(stack->id), [&] {
    Builder& b = call.builder();
    const Shape shape = b.shape(stack->id);
    if (shape.rank() != 5 || shape[1] != 2)
      throw bad_input("expected keys and values (batch, 2, length, heads, size) as 'shared_kv', got {}", shape.str());
    const auto part = [&](Dim i) {
      graph::Slice slice;
      slice.ranges.resize(5);
      slice.ranges[1] = {i, i + 1, 1};
      return b.reshape(b.apply(slice, {stack->id}), {shape[0], shape[2], shape[3], shape[4]});
    };
    const ValueId key = part(0);
    return std::vector{key, part(1)};
  });
  return {kept[0], kept[1]};
}

LayerPtr make_gemma4_norm() { return std::make_unique<RmsNorm>(); }
LayerPtr make_gemma4_value_norm() { return std::make_unique<Gemma4VNorm>(); }
LayerPtr make_gemma4_attention() { return std::make_unique<Gemma4TextAttention>(); }

}  // namespace attn::keras
