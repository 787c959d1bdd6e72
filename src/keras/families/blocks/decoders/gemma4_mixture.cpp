// Letters: see mixture.h.
#include "families/blocks/decoders/gemma4_mixture.h"

#include <array>
#include <cmath>

#include "families/blocks/mixture.h"

namespace attn::keras {
namespace {

/// The weights (R,E) of experts for tokens (B,T,D). Those of a row have the sum 1.
class Gemma4Router final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f.required("num_experts_per_token", num_experts_per_token);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  void check(const Ref& config) override {
    if (num_experts_per_token > num_experts)
      config["num_experts_per_token"].fail(
          fmt::format("{} experts cannot be chosen of {}", num_experts_per_token.value, num_experts.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override {
    width_ = call.shape("x").back();
    scale_ = w.add("per_dim_scale", {width_}, Initializer("ones"));
    norm_ = &make("Gemma4VNorm", "rms_norm", "rms_norm", {{"epsilon", layer_norm_epsilon.value}});
    projection_ = &make_unbiased("proj", num_experts);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const DType dtype = call.compute_dtype(), wide = dtype == DType::float64 ? DType::float64 : DType::float32;
    const TensorPtr rows = Call::result(b.reshape(call.tensor("x")->id, {kUnknown, width_}));
    const Expression normal(b, apply(call, *norm_, {rows})->id);
    const Expression scaled =
        normal * (1.0 / std::sqrt(static_cast<double>(width_))) * Expression(b, call.weight(scale_));
    const Expression logits(b, apply(call, *projection_, {Call::result(scaled)})->id);
    const Expression p(b,
                       b.cast(b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {1}}, {logits.cast(wide)}), dtype));
    const Expression kept = where(among_largest(p, num_experts_per_token), p, p.number(0.0));
    const Expression total = kept.reduced({graph::ReduceFn::sum, {1}, true});
    return Call::result(kept / max(total, total.number(1e-9)));
  }

 private:
  Positive num_experts, num_experts_per_token;
  Number layer_norm_epsilon{1e-6};
  Dim width_ = 0;
  int scale_ = 0;
  Layer* norm_ = nullptr;
  Layer* projection_ = nullptr;
};

/// The weighted sum (R,D) of the results of all experts, which are gated feed-forward networks with a factor.
class Gemma4MoEBlock final : public ExpertBank {
 public:
  void fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f.required("hidden_dim", hidden_dim);
    f.required("expert_intermediate_dim", intermediate_dim);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "dispatch_weights"};
    return kNames;
  }
  void build(Weights& w, Call&) override {
    const Shape in{num_experts, hidden_dim, intermediate_dim}, out{num_experts, intermediate_dim, hidden_dim};
    gate_ = w.add("gate_proj", in, Initializer("zeros"));
    up_ = w.add("up_proj", in, Initializer("zeros"));
    down_ = w.add("down_proj", out, Initializer("zeros"));
    factor_ = w.add("per_expert_scale", {num_experts}, Initializer("ones"));
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const DType dtype = call.compute_dtype(), wide = dtype == DType::float64 ? DType::float64 : DType::float32;
    const Expression x(b, b.expand_dims(call.tensor("x")->id, 0));  // (1,R,D)
    const Expression gate = times(call, x, gate_).cast(wide).unary(graph::UnaryFn::gelu_tanh).cast(dtype);
    const Expression made = times(call, gate * times(call, x, up_), down_);  // (E,R,D)
    const Expression factor(b, b.reshape(call.weight(factor_), {num_experts, 1, 1}));
    const Expression shares(b, b.expand_dims(b.transpose(call.tensor("dispatch_weights")->id, {1, 0}), -1));
    return Call::result((made * factor * shares).reduced({graph::ReduceFn::sum, {0}}));
  }

 private:
  int gate_ = 0, up_ = 0, down_ = 0, factor_ = 0;
};

}  // namespace

LayerPtr make_gemma4_router() { return std::make_unique<Gemma4Router>(); }
LayerPtr make_gemma4_experts() { return std::make_unique<Gemma4MoEBlock>(); }

}  // namespace attn::keras
