// Letters: B batch, T tokens, S streams, D width, F features inside the feed-forward network.
#include "families/blocks/decoders/gemma3n_parts.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace attn::keras {
namespace {

using graph::UnaryFn;
using graph::ValueId;

/// Returns the x with erf(x) = y, for −1 < y < 1: Newton's method, from Winitzki's approximation.
double inverse_erf(double y) {
  const double log = std::log1p(-y * y), a = 2.0 / (std::numbers::pi * 0.147) + log / 2.0;
  double x = std::copysign(std::sqrt(std::sqrt(a * a - log / 0.147) - a), y);
  for (int step = 0; step < 4; ++step) x -= (std::erf(x) - y) * std::exp(x * x) * std::sqrt(std::numbers::pi) / 2.0;
  return x;
}

/// An embedding whose rows are multiplied by a number.
class Gemma3nTextScaledWordEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_embeddings", num_embeddings);
    f.required("embedding_dim", embedding_dim);
    f("embed_scale", embed_scale);
  }
  void build(Weights&, Call&) override {
    embedding_ = &make("Embedding", "embedding", "embedding",
                       {{"input_dim", num_embeddings.value}, {"output_dim", embedding_dim.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const Expression rows(call.builder(), apply(call, *embedding_, {call.tensor("inputs")})->id);
    return Call::result(rows * embed_scale.value);
  }

 private:
  Positive num_embeddings, embedding_dim;
  Number embed_scale{1.0};
  Layer* embedding_ = nullptr;
};

/// A gated feed-forward network. The gate may keep only features that are far above the mean of all.
class Gemma3nTextMLP final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("intermediate_size", intermediate_size);
    f.required("hidden_activation", hidden_activation);
    f.required("activation_sparsity", activation_sparsity);
  }
  void check(const Ref& config) override {
    if (!gemma3n_activation(hidden_activation)) config["hidden_activation"].fail("expected the name of an activation");
    if (activation_sparsity >= 1.0) config["activation_sparsity"].fail("expected a number below 1");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    gate_ = &make_unbiased("gate_proj", intermediate_size);
    up_ = &make_unbiased("up_proj", intermediate_size);
    down_ = &make_unbiased("down_proj", hidden_size);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("hidden_states");
    const DType wide = call.compute_dtype() == DType::float64 ? DType::float64 : DType::float32;
    const auto projected = [&](Layer& layer) { return Expression(b, apply(call, layer, {x})->id).cast(wide); };
    Expression gate = projected(*gate_);
    if (activation_sparsity > 0.0) gate = above_mean(gate);
    const Expression active(b, gemma3n_activation(hidden_activation)->apply(b, gate));
    return apply(call, *down_, {Call::result(active * projected(*up_))});
  }

 private:
  /// Returns relu(x − mean − σ·z), with z so that the share `activation_sparsity` of a normal distribution is below it.
  [[nodiscard]] Expression above_mean(const Expression& x) const {
    const graph::Reduce over{graph::ReduceFn::mean, {x.shape().rank() - 1}, true};
    const Expression mean = x.reduced(over), spread = sqrt(square(x - mean).reduced(over));
    const double z = inverse_erf(2.0 * activation_sparsity - 1.0) * std::numbers::sqrt2;
    return max(x - (mean + spread * z), x.number(0.0));
  }

  Positive hidden_size, intermediate_size;
  std::string hidden_activation;
  Number activation_sparsity;
  Layer* gate_ = nullptr;
  Layer* up_ = nullptr;
  Layer* down_ = nullptr;
};

/// x plus the norm of a projection of low rank ("learned augmented residual layer").
class Gemma3nTextLaurelBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("laurel_rank", laurel_rank);
    f.required("rms_norm_eps", rms_norm_eps);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    left_ = &make_unbiased("linear_left", laurel_rank);
    right_ = &make_unbiased("linear_right", hidden_size);
    norm_ = &make("Gemma3nRMSNorm", "post_laurel_norm", "post_laurel_norm",
                  {{"dim", hidden_size.value}, {"eps", rms_norm_eps.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr x = call.tensor("hidden_states");
    return sum(call, x, apply(call, *norm_, {apply(call, *right_, {apply(call, *left_, {x})})}));
  }

 private:
  Positive hidden_size, laurel_rank;
  Number rms_norm_eps;
  Layer* left_ = nullptr;
  Layer* right_ = nullptr;
  Layer* norm_ = nullptr;
};

}  // namespace

std::optional<Activation> gemma3n_activation(const std::string& name) {
  if (name != "gelu_approximate") return Activation::named(name);
  Activation gelu;
  gelu.unary.fn = UnaryFn::gelu_tanh;
  return gelu;
}

Expression streams(const Expression& x, Dim from, Dim to) {
  graph::Slice some;
  some.ranges.resize(static_cast<std::size_t>(x.shape().rank()));
  some.ranges[2] = {from, to, 1};
  return {*x.builder, x.builder->apply(some, {x})};
}

void Gemma3nTextAltUp::fields(Fields& f) {
  f.required("hidden_size", hidden_size);
  f.required("altup_num_inputs", altup_num_inputs);
  f.required("altup_coef_clip", altup_coef_clip);  // KerasHub does not read it
  f.required("altup_active_idx", altup_active_idx);
  f.required("rms_norm_eps", rms_norm_eps);
  f.required("altup_correct_scale", altup_correct_scale);
}

void Gemma3nTextAltUp::check(const Ref& config) {
  if (altup_active_idx < 0 || altup_active_idx >= altup_num_inputs)
    config["altup_active_idx"].fail(fmt::format("expected an integer from 0 to {}", altup_num_inputs - 1));
}

std::span<const std::string_view> Gemma3nTextAltUp::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"hidden_states", "activated"};
  return kNames;
}

void Gemma3nTextAltUp::build(Weights& w, Call&) {
  const std::int64_t inputs = altup_num_inputs;
  if (altup_correct_scale) scale_ = w.add("correct_output_scale", {hidden_size}, Initializer("zeros"));
  correction_ = &make_unbiased("correction_coefs", inputs);
  prediction_ = &make_unbiased("prediction_coefs", inputs * inputs);
  router_ = &make_unbiased("modality_router", inputs);
  norm_ =
      &make("Gemma3nRMSNorm", "router_norm", "router_norm", {{"dim", hidden_size.value}, {"eps", rms_norm_eps.value}});
}

/// (B,T,1,D) → (B,T,S)
Expression Gemma3nTextAltUp::modalities(Call& call, const Expression& active) {
  graph::Builder& b = call.builder();
  const Shape in = active.shape();
  const ValueId rows = b.reshape(active, {in[0], in[1], in[3]});
  const Expression normal(b, apply(call, *norm_, {Call::result(rows)})->id);
  const TensorPtr scaled = Call::result(normal * (1.0 / static_cast<double>(hidden_size.value)));
  const Expression routed(b, apply(call, *router_, {scaled})->id);
  const DType wide = routed.dtype() == DType::float64 ? DType::float64 : DType::float32;
  return routed.cast(wide).unary(UnaryFn::tanh).cast(routed.dtype());
}

Arg Gemma3nTextAltUp::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  graph::Builder& b = call.builder();
  const Expression x(b, call.tensor("hidden_states")->id);
  const Shape in = x.shape();
  const Dim inputs = altup_num_inputs;
  if (in.rank() != 4 || in[2] != inputs)
    throw bad_input("expected {} streams (batch, length, {}, width), got {}", inputs, inputs, in.str());
  const auto coefficients = [&](Layer& layer, const Expression& active, Dim columns) {
    const TensorPtr routed = Call::result(modalities(call, active));
    return Expression(b, b.reshape(apply(call, layer, {routed})->id, {in[0], in[1], inputs, columns}));
  };
  const Expression active = streams(x, altup_active_idx, altup_active_idx + 1);
  const TensorPtr given = call.optional_tensor("activated");
  if (!given) {
    const Expression factors = coefficients(*prediction_, active, inputs);  // (B,T,S,S)
    return Call::result(Expression(b, b.apply(graph::MatMul{}, {factors, x})) + x);
  }
  const Expression activated(b, given->id);
  return Call::result((activated - active) * (coefficients(*correction_, activated, 1) + 1.0) + x);
}

Expression Gemma3nTextAltUp::scaled(Call& call, const Expression& active) const {
  if (!altup_correct_scale) return active;
  graph::Builder& b = call.builder();
  return active * Expression(b, b.cast(call.lowering().weight(*this, scale_), active.dtype()));
}

LayerPtr make_gemma3n_embedding() { return std::make_unique<Gemma3nTextScaledWordEmbedding>(); }
LayerPtr make_gemma3n_mlp() { return std::make_unique<Gemma3nTextMLP>(); }
LayerPtr make_gemma3n_laurel() { return std::make_unique<Gemma3nTextLaurelBlock>(); }

}  // namespace attn::keras
