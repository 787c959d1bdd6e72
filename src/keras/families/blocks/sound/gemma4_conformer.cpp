// Letters: B batch, T positions, D width.
#include "families/blocks/sound/gemma4_conformer.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "classes/composite.h"
#include "classes/ops/expression.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/sound/gemma4_audio_attention.h"
#include "model/shown_unbuilt.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::int64_t kMostFeatures = std::int64_t{1} << 30;

/// An RMS norm whose scale is not trained.
class Gemma4FrozenNorm final : public Layer {
 public:
  void fields(Fields& f) override { f("epsilon", epsilon); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { w.add("scale", {call.shape("x").back()}, Initializer("ones"), false); }
  Arg call(Call& call) override {
    return Call::result(
        rms_normalized(call.builder(), call.tensor("x")->id, call.weight(0), epsilon, call.compute_dtype()));
  }

 private:
  Number epsilon{1e-6};
};

/// A part of a block: layers that KerasHub builds in the constructor, and results that are clipped.
class ConformerPart : public Composite {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "mask"};
    return kNames;
  }

  void check(const Ref& config) override {
    if (hidden_size > kMostFeatures) config["hidden_size"].fail(fmt::format("expected at most {}", kMostFeatures));
  }

 protected:
  void common_fields(Fields& f) {
    f("gradient_clipping", gradient_clipping);
    f("norm_eps", norm_eps);
  }
  Layer& make_norm(const char* called) {
    return make_detached("Gemma4FrozenNorm", called, called, {{"epsilon", norm_eps.value}});
  }
  Layer& make_dense(const char* called, std::int64_t units) {
    return make_detached("Gemma4ClippableDense", fmt::format("{}_{}", name, called), called, {{"units", units}});
  }
  [[nodiscard]] TensorPtr clipped(Call& call, const TensorPtr& x) const {
    const Expression value(call.builder(), x->id);
    return Call::result(min(max(value, value.number(-gradient_clipping)), value.number(gradient_clipping)));
  }
  static TensorPtr silu(Call& call, const TensorPtr& x) {
    return Call::result(call.builder().unary(graph::UnaryFn::silu, x->id));
  }

  Positive hidden_size;
  Number gradient_clipping{1e10}, norm_eps{1e-6};
};

class Gemma4AudioConformerAttention final : public ConformerPart, private ChunkedAttention {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    chunk_fields(f);
    common_fields(f);
  }
  void build(Weights&, Call&) override {
    pre_norm_ = &make_norm("pre_attn_norm");
    Json arguments = chunk_arguments();
    arguments.update({{"hidden_size", hidden_size.value}, {"norm_eps", norm_eps.value}});
    attention_ = &make_detached("Gemma4AudioAttention", name + "_attn", "attn", std::move(arguments));
    output_ = &make_dense("out_proj", hidden_size);
    post_norm_ = &make_norm("post_norm");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("x"), normal = apply(call, *pre_norm_, {clipped(call, in)});
    const TensorPtr attended = apply(call, *attention_, {normal, call.arg("mask")});
    return sum(call, in, apply(call, *post_norm_, {clipped(call, apply(call, *output_, {attended}))}));
  }

 private:
  Layer *pre_norm_ = nullptr, *attention_ = nullptr, *output_ = nullptr, *post_norm_ = nullptr;
};

class Gemma4AudioConformerFeedForward final : public ConformerPart {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f("intermediate_dim", intermediate_dim);
    if (!intermediate_dim) intermediate_dim = 4 * hidden_size;
    f("residual_weight", residual_weight);
    common_fields(f);
  }
  void build(Weights&, Call&) override {
    pre_norm_ = &make_norm("pre_norm");
    first_ = &make_dense("ffw_1", *intermediate_dim);
    second_ = &make_dense("ffw_2", hidden_size);
    post_norm_ = &make_norm("post_norm");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("x"), normal = apply(call, *pre_norm_, {clipped(call, in)});
    const TensorPtr wide = silu(call, apply(call, *first_, {normal}));
    const TensorPtr out = apply(call, *post_norm_, {clipped(call, apply(call, *second_, {wide}))});
    return sum(call, in, Call::result(Expression(call.builder(), out->id) * residual_weight.value));
  }

 private:
  std::optional<Positive> intermediate_dim;
  Number residual_weight{0.5};
  Layer *pre_norm_ = nullptr, *first_ = nullptr, *second_ = nullptr, *post_norm_ = nullptr;
};

/// A gated projection, a convolution of each feature with earlier positions, and a projection.
class Gemma4AudioConformerLightConv1d final : public ConformerPart {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f("kernel_size", kernel_size);
    common_fields(f);
  }
  void build(Weights&, Call&) override {
    pre_norm_ = &make_norm("pre_norm");
    start_ = &make_dense("linear_start", 2 * hidden_size);
    convolution_ = &make_detached("DepthwiseConv1D", "depthwise_conv", "depthwise_conv",
                                  {{"kernel_size", kernel_size.value}, {"use_bias", false}});
    conv_norm_ = &make_norm("conv_norm");
    end_ = &make_dense("linear_end", hidden_size);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr in = call.tensor("x");
    const ValueId both = apply(call, *start_, {apply(call, *pre_norm_, {in})})->id;
    const auto half = [&](Dim start) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {start, start + hidden_size, 1}};
      return Expression(b, b.apply(slice, {both}));
    };
    const Expression gated = half(0) * half(hidden_size).unary(graph::UnaryFn::sigmoid);
    graph::Pad pad;
    pad.before = {0, kernel_size - 1, 0};
    pad.after = {0, 0, 0};
    const TensorPtr x = apply(call, *convolution_, {Call::result(b.apply(pad, {gated}))});
    const TensorPtr normal = apply(call, *conv_norm_, {clipped(call, x)});
    return sum(call, apply(call, *end_, {silu(call, normal)}), in);
  }

 private:
  Positive kernel_size = 5;
  Layer *pre_norm_ = nullptr, *start_ = nullptr, *convolution_ = nullptr, *conv_norm_ = nullptr, *end_ = nullptr;
};

/// Half a feed-forward network, attention, a convolution, and the other half.
class Gemma4AudioConformerBlock final : public ConformerPart, public ShownUnbuilt, private ChunkedAttention {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    chunk_fields(f);
    f("conv_kernel_size", conv_kernel_size);
    f("residual_weight", residual_weight);
    common_fields(f);
  }
  void build(Weights&, Call&) override {
    const auto part = [&](std::string_view class_name, const char* called, Json further) {
      further.update({{"hidden_size", hidden_size.value},
                      {"gradient_clipping", gradient_clipping.value},
                      {"norm_eps", norm_eps.value}});
      return &make_detached(class_name, fmt::format("{}_{}", name, called), called, std::move(further));
    };
    const Json half = {{"residual_weight", residual_weight.value}};
    start_ = part("Gemma4AudioConformerFeedForward", "ffw_start", half);
    attention_ = part("Gemma4AudioConformerAttention", "attention", chunk_arguments());
    convolution_ = part("Gemma4AudioConformerLightConv1d", "lconv", {{"kernel_size", conv_kernel_size.value}});
    end_ = part("Gemma4AudioConformerFeedForward", "ffw_end", half);
    norm_ = &make_norm("norm");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    TensorPtr x = apply(call, *start_, {call.tensor("x")});
    x = apply(call, *attention_, {x, call.arg("mask")});
    if (!call.lowering().symbolic()) {
      const Expression valid(b, b.expand_dims(b.cast(call.tensor("mask")->id, b.dtype(x->id)), 2));
      x = Call::result(Expression(b, x->id) * valid);
    }
    x = apply(call, *end_, {apply(call, *convolution_, {x})});
    return apply(call, *norm_, {clipped(call, x)});
  }

 private:
  Positive conv_kernel_size = 5;
  Number residual_weight{0.5};
  Layer *start_ = nullptr, *attention_ = nullptr, *convolution_ = nullptr, *end_ = nullptr, *norm_ = nullptr;
};

}  // namespace

LayerPtr make_gemma4_frozen_norm() { return std::make_unique<Gemma4FrozenNorm>(); }
LayerPtr make_gemma4_conformer_attention() { return std::make_unique<Gemma4AudioConformerAttention>(); }
LayerPtr make_gemma4_conformer_feed_forward() { return std::make_unique<Gemma4AudioConformerFeedForward>(); }
LayerPtr make_gemma4_conformer_convolution() { return std::make_unique<Gemma4AudioConformerLightConv1d>(); }
LayerPtr make_gemma4_conformer() { return std::make_unique<Gemma4AudioConformerBlock>(); }

}  // namespace attn::keras
