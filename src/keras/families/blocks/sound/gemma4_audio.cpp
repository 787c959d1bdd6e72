// Letters: see gemma4_audio.h; C channels of a convolution.
#include "families/blocks/sound/gemma4_audio.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "classes/ops/expression.h"
#include "model/shown_unbuilt.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// (B,T,F,C) with its mask (B,T) → a convolution of the steps that are no padding, and its mask.
class Gemma4AudioSSCPConvBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("in_channels", in_channels);
    f.required("out_channels", out_channels);
    f.required("kernel_t", kernel_t);
    f.required("kernel_f", kernel_f);
    f.required("stride_t", stride_t);
    f.required("stride_f", stride_f);
    f.required("pad_t_top", pad_t_top);
    f.required("pad_t_bottom", pad_t_bottom);
    f("norm_eps", norm_eps);
  }
  void check(const Ref& config) override {
    constexpr std::int64_t kMostPadding = 1 << 16;
    for (const auto& [key, value] : {std::pair("pad_t_top", pad_t_top), std::pair("pad_t_bottom", pad_t_bottom)})
      if (value < 0 || value > kMostPadding)
        config[key].fail(fmt::format("expected an integer from 0 to {}", kMostPadding));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "mask"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    conv_ = &make_detached("Conv2D", "conv", "conv",
                           {{"filters", out_channels.value},
                            {"kernel_size", {kernel_t.value, kernel_f.value}},
                            {"strides", {stride_t.value, stride_f.value}},
                            {"use_bias", false},
                            {"data_format", "channels_last"}});
    norm_ = &make_detached("LayerNormalization", "norm", "norm", {{"epsilon", norm_eps.value}, {"center", false}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr mask = call.tensor("mask");
    ValueId x = call.tensor("x")->id;
    const bool symbolic = call.lowering().symbolic();
    if (!symbolic) {
      const Shape shape = b.shape(mask->id);
      const Expression valid(b, b.cast(b.reshape(mask->id, {shape[0], shape[1], 1, 1}), b.dtype(x)));
      x = Expression(b, x) * valid;
    }
    graph::Pad pad;
    pad.before = {0, pad_t_top, 1, 0};
    pad.after = {0, pad_t_bottom, 1, 0};
    const TensorPtr out = apply(call, *conv_, {Call::result(b.apply(pad, {x}))});
    const Expression normal(b, apply(call, *norm_, {out})->id);
    const ValueId wide = max(normal, normal.number(0.0));
    if (symbolic) return ArgList{Call::result(wide), mask};
    const Dim steps = b.shape(wide)[1];
    graph::Slice every;
    every.ranges = {{}, {0, b.shape(mask->id)[1], stride_t}};
    graph::Slice first;
    first.ranges = {{}, {0, steps, 1}};
    const ValueId reduced = b.apply(every, {mask->id});
    if (b.shape(reduced)[1] < steps)
      throw bad_input("{} steps of sound give {} rows, but only {} of the mask", b.shape(mask->id)[1], steps,
                      b.shape(reduced)[1]);
    return ArgList{Call::result(wide), Call::result(b.apply(first, {reduced}))};
  }

 private:
  Positive in_channels, out_channels, kernel_t, kernel_f, stride_t, stride_f;
  std::int64_t pad_t_top = 0, pad_t_bottom = 0;
  Number norm_eps{1e-6};
  Layer *conv_ = nullptr, *norm_ = nullptr;
};

/// (B,T,F) with its mask (B,T) → (B,T/4,D) with its mask: two convolutions and a projection.
class Gemma4AudioSubSampleConvProjection final : public Composite, public ShownUnbuilt {
 public:
  void fields(Fields& f) override {
    f.required("input_feat_size", input_feat_size);
    f.required("hidden_size", hidden_size);
    f.required("conv_channels", conv_channels);
    f.required("kernel_sizes", kernel_sizes);
    f.required("stride_sizes", stride_sizes);
    f.required("pad_t_top", pad_t_top);
    f.required("pad_t_bottom", pad_t_bottom);
    f("norm_eps", norm_eps);
  }
  void check(const Ref& config) override {
    check_pairs(config, "kernel_sizes", kernel_sizes);
    check_pairs(config, "stride_sizes", stride_sizes);
    if (conv_channels.size() != 2) config["conv_channels"].fail("expected two numbers of channels");
    check_features(config, "conv_channels", conv_channels[1]);
    check_features(config, "input_feat_size", input_feat_size);
    if (last_features() < 1)
      config["input_feat_size"].fail(
          fmt::format("{} features are too few for two convolutions", input_feat_size.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"audio_mel", "mask"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    for (std::size_t i = 0; i < 2; ++i)
      convolutions_.push_back(&make_detached("Gemma4AudioSSCPConvBlock", fmt::format("conv_{}", i),
                                             fmt::format("conv_{}", i),
                                             {{"in_channels", i == 0 ? 1 : conv_channels[0].value},
                                              {"out_channels", conv_channels[i].value},
                                              {"kernel_t", kernel_sizes[i][0].value},
                                              {"kernel_f", kernel_sizes[i][1].value},
                                              {"stride_t", stride_sizes[i][0].value},
                                              {"stride_f", stride_sizes[i][1].value},
                                              {"pad_t_top", pad_t_top},
                                              {"pad_t_bottom", pad_t_bottom},
                                              {"norm_eps", norm_eps.value}}));
    input_proj_ =
        &make_detached("Dense", "input_proj", "input_proj", {{"units", hidden_size.value}, {"use_bias", false}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    Arg x = Call::result(b.expand_dims(call.tensor("audio_mel")->id, 3)), mask = call.tensor("mask");
    for (Layer* convolution : convolutions_) {
      const Arg results = call.lowering().apply(*convolution, ArgList{x, mask}, ArgDict{});
      x = (*results.as<ArgList>())[0];
      mask = (*results.as<ArgList>())[1];
    }
    const ValueId cells = (*x.as<TensorPtr>())->id;
    const Shape shape = b.shape(cells);
    const ValueId rows = b.reshape(cells, {shape[0], shape[1], last_features() * conv_channels[1]});
    return ArgList{apply(call, *input_proj_, {Call::result(rows)}), mask};
  }

 private:
  /// Returns the number of features behind the second convolution.
  [[nodiscard]] std::int64_t last_features() const {
    const std::int64_t first = strided_size(input_feat_size + 2, kernel_sizes[0][1], stride_sizes[0][1]);
    return strided_size(first + 2, kernel_sizes[1][1], stride_sizes[1][1]);
  }

  Positive input_feat_size, hidden_size;
  std::vector<Positive> conv_channels;
  SizePairs kernel_sizes, stride_sizes;
  std::int64_t pad_t_top = 0, pad_t_bottom = 0;
  Number norm_eps{1e-6};
  std::vector<Layer*> convolutions_;
  Layer* input_proj_ = nullptr;
};

}  // namespace

void Gemma4AudioEncoder::fields(Fields& f) {
  f("input_feat_size", input_feat_size);
  f("hidden_size", hidden_size);
  f("num_heads", num_heads);
  f("num_layers", num_layers);
  f("chunk_size", chunk_size);
  f("context_left", context_left);
  f("context_right", context_right);
  f("logit_cap", logit_cap);
  f("invalid_logit_value", invalid_logit_value);
  f("conv_kernel_size", conv_kernel_size);
  f("reduction_factor", reduction_factor);
  f("residual_weight", residual_weight);
  f("gradient_clipping", gradient_clipping);
  f("sscp_conv_channels", sscp_conv_channels);
  f("sscp_kernel_sizes", sscp_kernel_sizes);
  f("sscp_stride_sizes", sscp_stride_sizes);
  f("output_proj_dims", output_proj_dims);
  f("output_dim", output_dim);
  f("norm_eps", norm_eps);
  f("sscp_norm_eps", sscp_norm_eps);
}

void Gemma4AudioEncoder::check(const Ref& config) {
  if (num_layers > kMaxBlocks)
    config["num_layers"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  check_pairs(config, "sscp_kernel_sizes", sscp_kernel_sizes);
  check_pairs(config, "sscp_stride_sizes", sscp_stride_sizes);
}

std::span<const std::string_view> Gemma4AudioEncoder::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"audio_mel", "audio_mel_mask"};
  return kNames;
}

std::optional<std::vector<Shape>> Gemma4AudioEncoder::symbolic_shapes(Call& call) {
  const Shape in = call.shape("audio_mel");
  return {{{in[0], in[1], kUnknown, output_dim}}};
}

std::vector<Layer*> Gemma4AudioEncoder::layers() const {
  std::vector<Layer*> out;
  if (!built) return out;
  out.push_back(subsampling_);
  out.insert(out.end(), blocks_.begin(), blocks_.end());
  if (output_proj_ != nullptr) out.push_back(output_proj_);
  out.insert(out.end(), {projection_, norm_});
  return out;
}

void Gemma4AudioEncoder::build(Weights&, Call&) {
  const std::int64_t padding = sscp_kernel_sizes[0][0] / 2;
  Json channels = Json::array();
  for (const Positive& count : sscp_conv_channels) channels.push_back(count.value);
  subsampling_ = &make_detached("Gemma4AudioSubSampleConvProjection", "subsample_conv_projection",
                                "layers/gemma4_audio_sub_sample_conv_projection",
                                {{"input_feat_size", input_feat_size.value},
                                 {"hidden_size", hidden_size.value},
                                 {"conv_channels", channels},
                                 {"kernel_sizes", json_of(sscp_kernel_sizes)},
                                 {"stride_sizes", json_of(sscp_stride_sizes)},
                                 {"pad_t_top", padding},
                                 {"pad_t_bottom", padding},
                                 {"norm_eps", sscp_norm_eps.value}});
  const std::string list = "conformer_blocks/gemma4_audio_conformer_block";
  Json block = chunk_arguments();
  block.update({{"hidden_size", hidden_size.value},
                {"conv_kernel_size", conv_kernel_size.value},
                {"residual_weight", residual_weight.value},
                {"gradient_clipping", gradient_clipping.value},
                {"norm_eps", norm_eps.value}});
  for (std::int64_t i = 0; i < num_layers; ++i)
    blocks_.push_back(&make_detached("Gemma4AudioConformerBlock", fmt::format("conformer_{}", i),
                                     i == 0 ? list : fmt::format("{}_{}", list, i), block));
  if (output_proj_dims)
    output_proj_ = &make_detached("Dense", "output_proj", "layers/dense", {{"units", output_proj_dims->value}});
  projection_ = &make_detached("Dense", "audio_output_projection", "audio_output_projection",
                               {{"units", output_dim.value}, {"use_bias", false}});
  norm_ = &make_detached("Gemma4VNorm", "output_norm", "output_norm", {{"epsilon", norm_eps.value}});
}

Arg Gemma4AudioEncoder::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  Builder& b = call.builder();
  const ValueId sound = call.tensor("audio_mel")->id, given = call.tensor("audio_mel_mask")->id;
  const Shape shape = b.shape(sound);
  const bool symbolic = call.lowering().symbolic();
  if (shape.rank() != 4 || b.shape(given).rank() != 3 || (!symbolic && b.shape(given) != shape.slice(0, 3)))
    throw bad_input("expected sounds (batch, clips, steps, features) and a mask of the steps, got {} and {}",
                    shape.str(), b.shape(given).str());
  const Dim clips = shape[0] == kUnknown || shape[1] == kUnknown ? kUnknown : shape[0] * shape[1];
  const ValueId spectra = b.reshape(sound, {clips, shape[2], shape[3]});
  const TensorPtr valid = Call::result(b.reshape(b.cast(given, DType::boolean), {clips, shape[2]}));
  const Arg results = call.lowering().apply(*subsampling_, ArgList{Call::result(spectra), valid}, ArgDict{});
  TensorPtr x = *(*results.as<ArgList>())[0].as<TensorPtr>();
  const Arg mask = (*results.as<ArgList>())[1];
  for (Layer* block : blocks_) x = apply(call, *block, {x, mask});
  if (reduction_factor > 1 && !symbolic) {
    graph::Slice slice;
    slice.ranges = {{}, {0, b.shape(x->id)[1], reduction_factor}, {}};
    x = Call::result(b.apply(slice, {x->id}));
  }
  const auto shown = [&](Layer* layer, std::int64_t width) {
    if (symbolic) layer->node_shapes = {{{kUnknown, kUnknown, width}}};
  };
  const std::int64_t inner = output_proj_dims ? output_proj_dims->value : hidden_size.value;
  if (output_proj_ != nullptr) {
    x = apply(call, *output_proj_, {x});
    shown(output_proj_, inner);
  }
  x = apply(call, *projection_, {apply(call, *norm_, {x})});
  shown(norm_, inner);
  shown(projection_, output_dim);
  return Call::result(b.reshape(x->id, {shape[0], shape[1], b.shape(x->id)[1], output_dim.value}));
}

std::int64_t Gemma4AudioEncoder::rows(std::int64_t steps) const {
  const std::int64_t padding = 2 * (sscp_kernel_sizes[0][0] / 2);
  for (std::size_t i = 0; i < 2; ++i)
    steps = strided_size(steps + padding, sscp_kernel_sizes[i][0], sscp_stride_sizes[i][0]);
  return (steps + reduction_factor - 1) / reduction_factor;
}

LayerPtr make_gemma4_sound_convolution() { return std::make_unique<Gemma4AudioSSCPConvBlock>(); }
LayerPtr make_gemma4_subsampling() { return std::make_unique<Gemma4AudioSubSampleConvProjection>(); }

}  // namespace attn::keras
