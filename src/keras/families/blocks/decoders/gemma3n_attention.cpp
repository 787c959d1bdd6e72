// Letters: see head_attention.h.
#include "families/blocks/decoders/gemma3n_attention.h"

#include <array>
#include <optional>

#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/rotary.h"
#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma4_attention.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns x/√(mean(x²) + ε) in the compute dtype, multiplied by the scale if there is one.
ValueId normalized(Call& call, ValueId x, double epsilon, std::optional<int> scale) {
  Builder& b = call.builder();
  const int last = b.shape(x).rank() - 1;
  const DType dtype = call.compute_dtype();
  if (dtype == DType::float32 || dtype == DType::float64) {
    const graph::LayerNorm norm{graph::NormKind::rms, {last}, epsilon, scale.has_value(), false};
    return scale ? b.apply(norm, {x, call.weight(*scale)}) : b.apply(norm, {x});
  }
  const Expression value(b, x);  // KerasHub computes in half precision too
  const Expression mean = square(value).reduced({graph::ReduceFn::mean, {last}, true});
  const Expression normal = value * (mean + epsilon).unary(graph::UnaryFn::rsqrt);
  return scale ? normal * Expression(b, call.weight(*scale)) : normal;
}

class Gemma3nRMSNorm final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("dim", dim);
    f("eps", eps);
    f("with_scale", with_scale);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kNames; }
  void build(Weights& w, Call& call) override {
    if (call.shape("x").back() != dim && with_scale)
      throw bad_input("dim is {}, but the layer is called with {} features", dim.value, call.shape("x").back());
    if (with_scale) scale_ = w.add("scale", {dim}, Initializer("ones"));
  }
  Arg call(Call& call) override { return Call::result(normalized(call, call.tensor("x")->id, eps, scale_)); }

 private:
  static constexpr std::array<std::string_view, 1> kNames = {"x"};
  Positive dim;
  Number eps{1e-6};
  bool with_scale = true;
  std::optional<int> scale_;
};

/// Grouped attention without a scale, with norms of queries, keys and values. It may take the keys and values of an
/// earlier layer; it has variables for its own in any case. A call also returns the keys and values.
class Gemma3nTextAttention final : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("head_dim", head_dim);
    f.required("attention_dropout", dropout);
    f.required("attention_bias", use_bias);
    f.required("rms_norm_eps", rms_norm_eps);
    f("rope_max_wavelength", rope_max_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
    f("sliding_window", window);
    f("is_kv_shared_layer", is_kv_shared_layer);
  }
  void check(const Ref& config) override {
    if (!(dropout >= 0.0 && dropout <= 1.0)) config["attention_dropout"].fail("expected a number from 0 to 1");
    if (num_attention_heads % num_key_value_heads != 0)
      config["num_attention_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                     num_attention_heads.value, num_key_value_heads.value));
    if (num_attention_heads > kMost || head_dim > kMost)
      config["head_dim"].fail(fmt::format("heads of more than {} features are not accepted, nor as many heads", kMost));
    if (!(rope_max_wavelength > 0.0)) config["rope_max_wavelength"].fail("expected a number > 0");
    if (rope_scaling_factor && *rope_scaling_factor < 0.0) config["rope_scaling_factor"].fail("expected a number > 0");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 4> kNames = {"hidden_states", "attention_mask", "shared_kv",
                                                               "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_attention_heads, head_dim}; }

  void build(Weights& w, Call& call) override {
    const Shape width{call.shape("hidden_states").back()};
    const Shape all{num_attention_heads * head_dim}, shared{num_key_value_heads * head_dim};
    const auto dense = [&](const char* called, const Shape& in, const Shape& out) {
      return declare(w, called, called, in, out, use_bias, 2, false);
    };
    const auto norm = [&](const char* called) {
      int index = 0;
      w.scope(called, called, [&] { index = w.add("scale", {head_dim}, Initializer("ones")); });
      return index;
    };
    query_ = dense("q_proj", width, all);
    key_ = dense("k_proj", width, shared);
    value_ = dense("v_proj", width, shared);
    output_ = dense("o_proj", all, {hidden_size});
    query_norm_ = norm("q_norm");
    key_norm_ = norm("k_norm");
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("hidden_states")->id;
    AttentionOptions how;
    how.causal = call.flag("use_causal_mask");
    how.cached = true;
    how.masks = masks(call, std::nullopt);
    if (window) how.window = window->value;
    how.scores = call.lowering().want_scores;
    const double scaling = rope_scaling_factor && *rope_scaling_factor != 0.0 ? rope_scaling_factor->value : 1.0;
    const Rotary rotary{inverse_frequencies(rope_max_wavelength, head_dim, scaling)};
    const auto placed = [&](ValueId heads, int scale) {
      return turned(call, normalized(call, heads, rms_norm_eps, scale), rotary);
    };
    const ValueId query = placed(heads_of(call, x, query_, num_attention_heads), query_norm_);
    TensorPtr stack = call.optional_tensor("shared_kv");
    KeptKeys kept;
    if (!is_kv_shared_layer) {
      const ValueId key = placed(heads_of(call, x, key_, num_key_value_heads), key_norm_);
      const ValueId value =
          normalized(call, heads_of(call, x, value_, num_key_value_heads), rms_norm_eps, std::nullopt);
      kept = keep(call, key, value);
      stack = stacked_keys(call, key, value, kept);
    } else if (stack) {
      kept = shared_keys(call, stack);
    } else {
      throw bad_input("a layer with is_kv_shared_layer needs the keys and values of another one");
    }
    const Attended attended = attend_to(call, query, kept, how);
    const Shape shape = b.shape(attended.context);
    const ValueId joined = b.reshape(attended.context, {shape[0], shape[1], shape[2] * shape[3]});
    return ArgList{results(call, project(call, joined, output_), {attended, {}}, std::nullopt), stack};
  }

 private:
  static constexpr std::int64_t kMost = 1 << 16;

  /// Returns the projected x (B,T,heads,H).
  [[nodiscard]] ValueId heads_of(Call& call, ValueId x, const Projection& projection, Dim heads) const {
    const Shape in = call.builder().shape(x);
    return call.builder().reshape(project(call, x, projection), {in[0], in[1], heads, head_dim});
  }

  Positive hidden_size, num_attention_heads, num_key_value_heads, head_dim;
  Number rms_norm_eps, rope_max_wavelength = 10000;
  std::optional<Number> rope_scaling_factor = Number(1.0);
  std::optional<Positive> window;
  bool is_kv_shared_layer = false;
  int query_norm_ = 0, key_norm_ = 0;
};

}  // namespace

LayerPtr make_gemma3n_norm() { return std::make_unique<Gemma3nRMSNorm>(); }
LayerPtr make_gemma3n_attention() { return std::make_unique<Gemma3nTextAttention>(); }

}  // namespace attn::keras
