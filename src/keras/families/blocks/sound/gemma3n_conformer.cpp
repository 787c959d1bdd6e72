#include "families/blocks/sound/gemma3n_conformer.h"

#include <string>
#include <utility>

#include "families/blocks/sound/conformer.h"

namespace attn::keras {
namespace {

template <typename Part>
class Gemma3nPart : public Part {
 protected:
  Layer& make_norm(const char* called) { return make_norm(called, this->norm_eps); }
  Layer& make_norm(const char* called, double epsilon) {
    return this->make("Gemma3nRMSNorm", called, called, {{"dim", this->hidden_size.value}, {"eps", epsilon}});
  }
};

class Gemma3nAudioConformerFeedForward final : public Gemma3nPart<ConformerFeedForward> {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("gradient_clipping", gradient_clipping);
    f.required("residual_weight", residual_weight);
    f.required("rms_norm_eps", norm_eps);
  }
  void build(Weights&, Call&) override {
    pre_norm_ = &make_norm("pre_layer_norm");
    first_ = &make_unbiased("ffw_layer_1", 4 * hidden_size);
    second_ = &make_unbiased("ffw_layer_2", hidden_size);
    post_norm_ = &make_norm("post_layer_norm");
  }
};

class Gemma3nAudioConformerLightConv1d final : public Gemma3nPart<ConformerConvolution> {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("rms_norm_eps", norm_eps);
    f.required("conv_kernel_size", kernel_size);
    f.required("gradient_clipping", gradient_clipping);
  }
  void build(Weights&, Call&) override {
    pre_norm_ = &make_norm("pre_layer_norm");
    start_ = &make_unbiased("linear_start", 2 * hidden_size);
    convolution_ = &make("DepthwiseConv1D", "depthwise_conv1d", "depthwise_conv1d",
                         {{"kernel_size", kernel_size.value}, {"use_bias", false}, {"data_format", "channels_last"}});
    conv_norm_ = &make_norm("conv_norm");
    end_ = &make_unbiased("linear_end", hidden_size);
  }
};

/// The fields of the attention, which are those of the part around it too.
struct AttentionFields {
  void operator()(Fields& f) {
    f.required("num_attention_heads", num_attention_heads);
    f.required("attention_chunk_size", attention_chunk_size);
    f.required("num_attention_context_right", num_attention_context_right);
    f.required("num_attention_context_left", num_attention_context_left);
    f.required("attention_logit_cap", attention_logit_cap);
  }
  [[nodiscard]] Json arguments(std::int64_t hidden_size) const {
    return {{"hidden_size", hidden_size},
            {"num_attention_heads", num_attention_heads.value},
            {"attention_chunk_size", attention_chunk_size.value},
            {"num_attention_context_right", num_attention_context_right},
            {"num_attention_context_left", num_attention_context_left},
            {"attention_logit_cap", attention_logit_cap.value}};
  }

  Positive num_attention_heads, attention_chunk_size;
  std::int64_t num_attention_context_right = 0, num_attention_context_left = 0;
  Number attention_logit_cap;
};

class Gemma3nAudioConformerAttention final : public Gemma3nPart<ConformerAttention> {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("gradient_clipping", gradient_clipping);
    attention_fields(f);
  }
  void build(Weights&, Call&) override {
    constexpr double kEpsilon = 1e-6;  // KerasHub's default; the encoder's ε has no effect here
    pre_norm_ = &make_norm("pre_attn_norm", kEpsilon);
    attention_ = &make("Gemma3nAudioAttention", "attn", "attn", attention_fields.arguments(hidden_size));
    output_ = &make_unbiased("post", hidden_size);
    post_norm_ = &make_norm("post_norm", kEpsilon);
  }

 private:
  AttentionFields attention_fields;
};

class Gemma3nAudioConformerBlock final : public Gemma3nPart<ConformerBlock> {
 public:
  Gemma3nAudioConformerBlock() { mask_is_of_padding_ = true; }
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("rms_norm_eps", norm_eps);
    f.required("gradient_clipping", gradient_clipping);
    f.required("residual_weight", residual_weight);
    attention_fields(f);
    f.required("conv_kernel_size", conv_kernel_size);
  }
  void build(Weights&, Call&) override {
    const auto half = [&](const char* called) {
      return &make("Gemma3nAudioConformerFeedForward", called, called,
                   {{"hidden_size", hidden_size.value},
                    {"gradient_clipping", gradient_clipping.value},
                    {"residual_weight", residual_weight.value},
                    {"rms_norm_eps", norm_eps.value}});
    };
    start_ = half("ffw_layer_start");
    Json attention = attention_fields.arguments(hidden_size);
    attention["gradient_clipping"] = gradient_clipping.value;
    attention_ = &make("Gemma3nAudioConformerAttention", "attention", "attention", std::move(attention));
    convolution_ = &make("Gemma3nAudioConformerLightConv1d", "lconv1d", "lconv1d",
                         {{"hidden_size", hidden_size.value},
                          {"rms_norm_eps", norm_eps.value},
                          {"conv_kernel_size", conv_kernel_size.value},
                          {"gradient_clipping", gradient_clipping.value}});
    end_ = half("ffw_layer_end");
    norm_ = &make_norm("norm");
  }

 private:
  AttentionFields attention_fields;
  Positive conv_kernel_size;
  Number residual_weight;
};

}  // namespace

LayerPtr make_gemma3n_conformer_attention() { return std::make_unique<Gemma3nAudioConformerAttention>(); }
LayerPtr make_gemma3n_conformer_feed_forward() { return std::make_unique<Gemma3nAudioConformerFeedForward>(); }
LayerPtr make_gemma3n_conformer_convolution() { return std::make_unique<Gemma3nAudioConformerLightConv1d>(); }
LayerPtr make_gemma3n_conformer() { return std::make_unique<Gemma3nAudioConformerBlock>(); }

}  // namespace attn::keras
