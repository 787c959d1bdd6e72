// Letters: see gemma3n_audio.h; C channels of a convolution.
#include "families/blocks/sound/gemma3n_audio.h"

#include <array>
#include <string>
#include <utility>

#include "classes/ops/expression.h"
#include "families/blocks/sound/gemma3n_conformer.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Normalizes steps (B,T,F,C) by the mean and the variance of this step and all earlier ones.
class Gemma3nAudioCumulativeGroupNorm final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("num_channels", num_channels);
    f.required("feature_dims", feature_dims);
    f("eps", eps);
  }
  void check(const Ref& config) override {
    if (feature_dims.size() != 1) config["feature_dims"].fail("expected the size of one axis");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
    return kNames;
  }

  void build(Weights& w, Call&) override { w.add("scale", {num_channels}, Initializer("ones")); }
  Arg call(Call& call) override {
    const TensorPtr in = call.tensor("hidden_states");
    if (call.lowering().symbolic()) return in;
    Builder& b = call.builder();
    const Shape shape = b.shape(in->id);
    const DType wide = b.dtype(in->id) == DType::float64 ? DType::float64 : DType::float32;
    const Expression x = Expression(b, in->id).cast(wide), scale(b, b.cast(call.weight(0), wide));
    const auto each = static_cast<double>(shape[2] * shape[3]);
    const Expression count(b, b.apply(graph::Iota{{1, shape[1], 1, 1}, wide, 1, each, each}, {}));
    const auto mean_so_far = [&](const Expression& y) {
      const Expression own = y.reduced({graph::ReduceFn::sum, {2, 3}, true});
      return Expression(b, b.apply(graph::Cumulate{.axis = 1}, {own})) / count;
    };
    const Expression centered = x - mean_so_far(x);
    const Expression deviation = sqrt(mean_so_far(square(centered)) + eps.value);
    return Call::result((centered / deviation * scale).cast(b.dtype(in->id)));
  }

 private:
  Positive num_channels;
  std::vector<Positive> feature_dims;
  Number eps{1e-3};
};

/// (B,T,F,C) → a convolution, a norm, and the positive part. KerasHub has the channels in front.
class Gemma3nAudioSSCPConvBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("input_freq_dim", input_freq_dim);
    f.required("out_channels", out_channels);
    f.required("kernel_size", kernel_size);
    f.required("stride_size", stride_size);
    f.required("group_norm_eps", group_norm_eps);
    f("manual_padding", manual_padding);
  }
  void check(const Ref& config) override {
    for (const auto& [key, size] : {std::pair("kernel_size", &kernel_size), {"stride_size", &stride_size}})
      if (size->size() != 2) config[key].fail("expected two integers");
    if (manual_padding.size() != 4) config["manual_padding"].fail("expected four integers");
    constexpr std::int64_t kMostPadding = 1 << 16;
    for (const std::int64_t size : manual_padding)
      if (size < 0 || size > kMostPadding)
        config["manual_padding"].fail(fmt::format("expected integers from 0 to {}", kMostPadding));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"audio_encodings"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    conv_ = &make("Conv2D", "conv", "conv",
                  {{"filters", out_channels.value},
                   {"kernel_size", {kernel_size[0].value, kernel_size[1].value}},
                   {"strides", {stride_size[0].value, stride_size[1].value}},
                   {"use_bias", false},
                   {"data_format", "channels_last"}});
    const std::int64_t features =
        strided_size(input_freq_dim + manual_padding[0] + manual_padding[1], kernel_size[1], stride_size[1]);
    norm_ = &make("Gemma3nAudioCumulativeGroupNorm", "norm", "norm",
                  {{"num_channels", out_channels.value}, {"feature_dims", {features}}, {"eps", group_norm_eps.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    graph::Pad pad;
    pad.before = {0, manual_padding[2], manual_padding[0], 0};
    pad.after = {0, manual_padding[3], manual_padding[1], 0};
    const TensorPtr padded = Call::result(b.apply(pad, {call.tensor("audio_encodings")->id}));
    const Expression normal(b, apply(call, *norm_, {apply(call, *conv_, {padded})})->id);
    return Call::result(max(normal, normal.number(0.0)));
  }

 private:
  Positive input_freq_dim, out_channels;
  std::vector<Positive> kernel_size, stride_size;
  Number group_norm_eps;
  std::vector<std::int64_t> manual_padding{0, 0, 0, 0};
  Layer *conv_ = nullptr, *norm_ = nullptr;
};

/// (B,T,F) → (B,R,D): two convolutions and a projection.
class Gemma3nAudioSubSampleConvProjection final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("input_feat_size", input_feat_size);
    f.required("hidden_size", hidden_size);
    f.required("sscp_conv_channel_size", sscp_conv_channel_size);
    f.required("sscp_conv_kernel_size", sscp_conv_kernel_size);
    f.required("sscp_conv_stride_size", sscp_conv_stride_size);
    f.required("sscp_conv_group_norm_eps", sscp_conv_group_norm_eps);
  }
  void check(const Ref& config) override {
    check_pairs(config, "sscp_conv_kernel_size", sscp_conv_kernel_size);
    check_pairs(config, "sscp_conv_stride_size", sscp_conv_stride_size);
    if (sscp_conv_channel_size.size() != 2) config["sscp_conv_channel_size"].fail("expected two numbers of channels");
    check_features(config, "sscp_conv_channel_size", sscp_conv_channel_size[1]);
    check_features(config, "input_feat_size", input_feat_size);
    if (features(2) < 1)
      config["input_feat_size"].fail(
          fmt::format("{} features are too few for two convolutions", input_feat_size.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"audio_encodings"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string called = fmt::format("conv_{}", i);
      convolutions_.push_back(
          &make("Gemma3nAudioSSCPConvBlock", called, called,
                {{"input_freq_dim", features(i)},
                 {"out_channels", sscp_conv_channel_size[i].value},
                 {"kernel_size", {sscp_conv_kernel_size[i][0].value, sscp_conv_kernel_size[i][1].value}},
                 {"stride_size", {sscp_conv_stride_size[i][0].value, sscp_conv_stride_size[i][1].value}},
                 {"group_norm_eps", sscp_conv_group_norm_eps.value},
                 {"manual_padding", {1, 1, 0, sscp_conv_kernel_size[i][0] - 1}}}));
    }
    projection_ = &make_unbiased("input_proj_linear", hidden_size);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    TensorPtr x = Call::result(b.expand_dims(call.tensor("audio_encodings")->id, 3));
    for (Layer* convolution : convolutions_) x = apply(call, *convolution, {x});
    const Shape shape = b.shape(x->id);
    const ValueId rows = b.reshape(x->id, {shape[0], shape[1], features(2) * sscp_conv_channel_size[1]});
    return apply(call, *projection_, {Call::result(rows)});
  }

 private:
  /// Returns the number of features behind the first `count` convolutions.
  [[nodiscard]] std::int64_t features(std::size_t count) const {
    std::int64_t size = input_feat_size;
    for (std::size_t i = 0; i < count; ++i)
      size = strided_size(size + 2, sscp_conv_kernel_size[i][1], sscp_conv_stride_size[i][1]);
    return size;
  }

  Positive input_feat_size, hidden_size;
  std::vector<Positive> sscp_conv_channel_size;
  SizePairs sscp_conv_kernel_size, sscp_conv_stride_size;
  Number sscp_conv_group_norm_eps;
  std::vector<Layer*> convolutions_;
  Layer* projection_ = nullptr;
};

}  // namespace

void Gemma3nAudioEncoder::fields(Fields& f) {
  f.required("hidden_size", hidden_size);
  f.required("input_feat_size", input_feat_size);
  f.required("sscp_conv_channel_size", sscp_conv_channel_size);
  f.required("sscp_conv_kernel_size", sscp_conv_kernel_size);
  f.required("sscp_conv_stride_size", sscp_conv_stride_size);
  f.required("sscp_conv_group_norm_eps", sscp_conv_group_norm_eps);
  f.required("num_hidden_layers", num_hidden_layers);
  f.required("rms_norm_eps", rms_norm_eps);
  f.required("gradient_clipping", gradient_clipping);
  f.required("residual_weight", residual_weight);
  f.required("num_attention_heads", num_attention_heads);
  f.required("attention_chunk_size", attention_chunk_size);
  f.required("num_attention_context_right", num_attention_context_right);
  f.required("num_attention_context_left", num_attention_context_left);
  f.required("attention_logit_cap", attention_logit_cap);
  f.required("conv_kernel_size", conv_kernel_size);
  f.required("reduction_factor", reduction_factor);
}

void Gemma3nAudioEncoder::check(const Ref& config) {
  if (num_hidden_layers > kMaxBlocks)
    config["num_hidden_layers"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  check_pairs(config, "sscp_conv_kernel_size", sscp_conv_kernel_size);
  check_pairs(config, "sscp_conv_stride_size", sscp_conv_stride_size);
  check_chunks(config, kGemma3nChunkKeys, hidden_size, num_attention_heads, attention_chunk_size,
               num_attention_context_left, num_attention_context_right);
}

std::span<const std::string_view> Gemma3nAudioEncoder::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"audio_mel", "audio_mel_mask"};
  return kNames;
}

void Gemma3nAudioEncoder::build(Weights&, Call&) {
  Json channels = Json::array();
  for (const Positive& count : sscp_conv_channel_size) channels.push_back(count.value);
  subsampling_ = &make("Gemma3nAudioSubSampleConvProjection", "subsample_conv_projection", "subsample_conv_projection",
                       {{"input_feat_size", input_feat_size.value},
                        {"hidden_size", hidden_size.value},
                        {"sscp_conv_channel_size", channels},
                        {"sscp_conv_kernel_size", json_of(sscp_conv_kernel_size)},
                        {"sscp_conv_stride_size", json_of(sscp_conv_stride_size)},
                        {"sscp_conv_group_norm_eps", sscp_conv_group_norm_eps.value}});
  const std::string list = "conformer/gemma3n_audio_conformer_block";
  for (std::int64_t i = 0; i < num_hidden_layers; ++i)
    blocks_.push_back(&make("Gemma3nAudioConformerBlock", fmt::format("conformer_block_{}", i),
                            i == 0 ? list : fmt::format("{}_{}", list, i),
                            {{"hidden_size", hidden_size.value},
                             {"rms_norm_eps", rms_norm_eps.value},
                             {"gradient_clipping", gradient_clipping.value},
                             {"residual_weight", residual_weight.value},
                             {"num_attention_heads", num_attention_heads.value},
                             {"attention_chunk_size", attention_chunk_size.value},
                             {"num_attention_context_right", num_attention_context_right},
                             {"num_attention_context_left", num_attention_context_left},
                             {"attention_logit_cap", attention_logit_cap.value},
                             {"conv_kernel_size", conv_kernel_size.value}}));
}

Arg Gemma3nAudioEncoder::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  Builder& b = call.builder();
  const bool symbolic = call.lowering().symbolic();
  TensorPtr x = apply(call, *subsampling_, {call.tensor("audio_mel")}), mask = call.tensor("audio_mel_mask");
  if (!symbolic) {
    // A row has the mask of its first step, or of the last one if there are too few.
    const Dim stride = sscp_conv_stride_size[0][0] * sscp_conv_stride_size[1][0], steps = b.shape(mask->id)[1];
    const Expression first(
        b, b.apply(graph::Iota{{b.shape(x->id)[1]}, DType::int32, 0, 0.0, static_cast<double>(stride)}, {}));
    const Expression taken = min(first, first.number(static_cast<double>(steps - 1)));
    mask = Call::result(b.cast(b.apply(graph::Gather{1}, {b.cast(mask->id, DType::int32), taken}), DType::boolean));
  }
  for (Layer* block : blocks_) x = apply(call, *block, {x, mask});
  if (symbolic) return x;
  const auto reduced = [&](ValueId value, graph::Slice every) {
    if (reduction_factor == 1) return value;
    every.ranges[1] = {0, b.shape(value)[1], reduction_factor};
    return b.apply(std::move(every), {value});
  };
  const Expression rows(b, reduced(x->id, graph::Slice{{{}, {}, {}}})),
      padding(b, reduced(mask->id, graph::Slice{{{}, {}}}));
  const Expression valid = padding.unary(graph::UnaryFn::logical_not).cast(rows.dtype());
  return Call::result(rows * Expression(b, b.expand_dims(valid, 2)));
}

LayerPtr make_gemma3n_group_norm() { return std::make_unique<Gemma3nAudioCumulativeGroupNorm>(); }
LayerPtr make_gemma3n_sound_convolution() { return std::make_unique<Gemma3nAudioSSCPConvBlock>(); }
LayerPtr make_gemma3n_subsampling() { return std::make_unique<Gemma3nAudioSubSampleConvProjection>(); }

}  // namespace attn::keras
