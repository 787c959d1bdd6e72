#include "families/blocks/sound/gemma4_conformer.h"

#include <optional>
#include <string>
#include <utility>

#include "families/blocks/rms_norm.h"
#include "families/blocks/sound/conformer.h"
#include "families/blocks/sound/gemma4_audio_attention.h"
#include "model/shown_unbuilt.h"

namespace attn::keras {
namespace {

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

/// A part with layers that KerasHub builds in the constructor.
template <typename Part>
class Gemma4Part : public Part {
 protected:
  void common_fields(Fields& f) {
    f("gradient_clipping", this->gradient_clipping);
    f("norm_eps", this->norm_eps);
  }
  Layer& make_norm(const char* called) {
    return this->make_detached("Gemma4FrozenNorm", called, called, {{"epsilon", this->norm_eps.value}});
  }
  Layer& make_dense(const char* called, std::int64_t units) {
    return this->make_detached("Gemma4ClippableDense", fmt::format("{}_{}", this->name, called), called,
                               {{"units", units}});
  }
};

class Gemma4AudioConformerAttention final : public Gemma4Part<ConformerAttention>, private ChunkedAttention {
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

 private:
};

class Gemma4AudioConformerFeedForward final : public Gemma4Part<ConformerFeedForward> {
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

 private:
  std::optional<Positive> intermediate_dim;
};

class Gemma4AudioConformerLightConv1d final : public Gemma4Part<ConformerConvolution> {
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
};

class Gemma4AudioConformerBlock final : public Gemma4Part<ConformerBlock>,
                                        public ShownUnbuilt,
                                        private ChunkedAttention {
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

 private:
  Positive conv_kernel_size = 5;
  Number residual_weight{0.5};
};

}  // namespace

LayerPtr make_gemma4_frozen_norm() { return std::make_unique<Gemma4FrozenNorm>(); }
LayerPtr make_gemma4_conformer_attention() { return std::make_unique<Gemma4AudioConformerAttention>(); }
LayerPtr make_gemma4_conformer_feed_forward() { return std::make_unique<Gemma4AudioConformerFeedForward>(); }
LayerPtr make_gemma4_conformer_convolution() { return std::make_unique<Gemma4AudioConformerLightConv1d>(); }
LayerPtr make_gemma4_conformer() { return std::make_unique<Gemma4AudioConformerBlock>(); }

}  // namespace attn::keras
