// Letters: see mobile_layers.h.
#include "families/blocks/images/mobile_blocks.h"

#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"
#include "families/blocks/absent_field.h"
#include "families/blocks/images/mobile_layers.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kNoSqueeze = "KerasHub's blocks cannot call their squeeze-and-excitation layer";

/// A convolution to more channels, and one to the block's.
class EdgeResidual final : public MobileBlock {
 public:
  void fields(Fields& f) override {
    f.required("filters", filters);
    f("exp_kernel_size", exp_kernel_size);
    f("stride", stride);
    f("dilation", dilation);
    f("group_size", group_size);
    f("pad_type", pad_type);
    f("expansion_in_chs", expansion_in_chs);
    f("noskip", noskip);
    f("exp_ratio", exp_ratio);
    f("pw_kernel_size", pw_kernel_size);
    f("act_layer", act_layer);
    f("norm_layer", norm_layer);
    absent_field(f, "se_layer", kNoSqueeze);
    f("drop_path_rate", drop_path_rate);
    axis_fields(f);
    part_names(f);
  }
  void build(Weights&, Call& call) override {
    const Dim in = channels(call);
    const Dim base = expansion_in_chs > 0 ? expansion_in_chs : in;
    const std::int64_t wide = adjusted_channels(static_cast<double>(base) * exp_ratio);
    if (group_size > 0 && wide % group_size != 0)
      throw bad_input("{} channels cannot be divided into groups of {}", wide, group_size);
    conv_exp_ = &make_conv(
        "conv_exp", wide, exp_kernel_size,
        {{"stride", stride.value}, {"dilation", dilation.value}, {"groups", group_size > 0 ? wide / group_size : 1}});
    conv_pwl_ = &make_conv("conv_pwl", filters, pw_kernel_size, {{"apply_act", false}});
    make_end("", in);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("inputs");
    return finished(call, apply(call, *conv_pwl_, {apply(call, *conv_exp_, {in})}), in);
  }

 private:
  Positive exp_kernel_size = 3, pw_kernel_size = 1;
  std::int64_t group_size = 0, expansion_in_chs = 0;
  Layer* conv_exp_ = nullptr;
  Layer* conv_pwl_ = nullptr;
};

/// Dense maps of the channels to more and to the block's, with depthwise convolutions before, between and after them.
/// A kernel size of 0 omits a convolution; the first of the others has the stride, unless a middle one follows it.
class UniversalInvertedResidual final : public MobileBlock {
 public:
  void fields(Fields& f) override {
    f.required("filters", filters);
    f("dw_kernel_size_start", start_size);
    f("dw_kernel_size_mid", mid_size);
    f("dw_kernel_size_end", end_size);
    f("stride", stride);
    f("dilation", dilation);
    f("pad_type", pad_type);
    f("noskip", noskip);
    f("exp_ratio", exp_ratio);
    f("act_layer", act_layer);
    f("norm_layer", norm_layer);
    absent_field(f, "se_layer", kNoSqueeze);
    f("drop_path_rate", drop_path_rate);
    f("layer_scale_init_value", layer_scale_init_value);
    axis_fields(f);
    part_names(f);
  }
  void build(Weights&, Call& call) override {
    const Dim in = channels(call);
    const std::int64_t wide = adjusted_channels(static_cast<double>(in) * exp_ratio);
    const auto depthwise = [&](const char* attribute, std::int64_t count, std::int64_t size, bool strided, bool acts) {
      if (size == 0) return;
      convs_.push_back(&make_conv(attribute, count, size,
                                  {{"stride", strided ? stride.value : 1},
                                   {"dilation", dilation.value},
                                   {"groups", count},
                                   {"apply_act", acts}}));
    };
    depthwise("dw_start", in, start_size, mid_size == 0, false);
    convs_.push_back(&make_conv("pw_exp", wide, 1));
    depthwise("dw_mid", wide, mid_size, true, true);
    convs_.push_back(&make_conv("pw_proj", filters, 1, {{"apply_act", false}}));
    depthwise("dw_end", filters, end_size, start_size == 0 && mid_size == 0, false);
    make_end(layer_scale_init_value ? next_name("LayerScale2d") : "", in);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("inputs");
    TensorPtr x = in;
    for (Layer* conv : convs_) x = apply(call, *conv, {x});
    return finished(call, x, in);
  }

 private:
  std::int64_t start_size = 0, mid_size = 3, end_size = 0;
  std::vector<Layer*> convs_;
};

/// Joins the channels of several results at the size of the first, and resizes them to the output's.
class MultiScaleFusionAdapter final : public MobileLayer {
 public:
  void fields(Fields& f) override {
    f.required("in_chs", in_chs);
    f.required("filters", filters);
    f.required("output_resolution", output_resolution);
    f("expansion_ratio", expansion_ratio);
    f("interpolation_mode", interpolation_mode);
    f("layer_scale_init_value", layer_scale_init_value);
    f("noskip", noskip);
    f("act_layer", act_layer);
    f("norm_layer", norm_layer);
    axis_fields(f);
    part_names(f);
  }
  [[nodiscard]] bool takes_list() const override { return true; }

  void build(Weights&, Call&) override {
    const std::string ffn = next_name("UniversalInvertedResidual"), norm = next_name(norm_class(norm_layer.value));
    Json names = Json::array();
    for (const std::string_view part : later_fusion_parts(norm_layer.value)) names.push_back(next_name(part));
    ffn_ = &make("UniversalInvertedResidual", ffn, "ffn",
                 {{"filters", filters.value},
                  {"dw_kernel_size_mid", 0},
                  {"exp_ratio", expansion_ratio.value},
                  {"act_layer", act_layer.json},
                  {"norm_layer", norm_layer.value},
                  {"noskip", noskip},
                  {"part_names", std::move(names)}});
    norm_ = &make_norm(norm, "norm", filters);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const std::vector<TensorPtr> inputs = call.tensors("inputs");
    if (inputs.empty()) throw bad_input("expected at least one input");
    for (const TensorPtr& input : inputs) expect_rank(call.shape(input), 4);
    const Shape first = call.shape(inputs.front());
    std::vector<ValueId> resized;
    for (const TensorPtr& input : inputs)
      resized.push_back(resized_to(b, input->id, first[1], first[2], interpolation_mode.value));
    const ValueId joined = b.apply(graph::Concat{3}, resized);
    const Dim expected = std::accumulate(in_chs.begin(), in_chs.end(), Dim{0});
    if (b.shape(joined)[3] != expected)
      throw bad_input("expected {} channels in all inputs, got {}", expected, b.shape(joined)[3]);
    const ValueId mixed = apply(call, *ffn_, {Call::result(joined)})->id;
    return apply(call, *norm_, {Call::result(output_sized(b, mixed))});
  }
  /// Keras's shape is that of the output resolution even if the size of the inputs is unknown.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return {{{call.shape(call.tensors("inputs").front())[0], output_resolution, output_resolution, filters}}};
  }

 private:
  [[nodiscard]] static ValueId resized_to(Builder& b, ValueId x, Dim height, Dim width, std::string_view how) {
    const Shape shape = b.shape(x);
    if (shape[1] == height && shape[2] == width && height != kUnknown && width != kUnknown) return x;
    Resampling resampling;
    resampling.interpolation = how;
    return resized_image(b, x, 1, height, width, resampling);
  }
  /// Pools x (B,H,W,C) if its size is a multiple of the output resolution, and interpolates it otherwise.
  [[nodiscard]] ValueId output_sized(Builder& b, ValueId x) const {
    const Dim size = output_resolution, height = b.shape(x)[1], width = b.shape(x)[2];
    const bool multiple = height != kUnknown && width != kUnknown && height % size == 0 && width % size == 0;
    if (!multiple || height == 0 || width == 0) return resized_to(b, x, size, size, "bilinear");
    if (height == size && width == size) return x;
    const std::vector<std::int64_t> window = {height / size, width / size};
    return b.apply(graph::Pool{true, window, window, graph::Padding::valid}, {x});
  }

  std::vector<Positive> in_chs;
  Positive filters, output_resolution;
  Number expansion_ratio = 2.0;
  Choice interpolation_mode{"nearest", {kInterpolations.begin(), kInterpolations.end()}};
  std::optional<Number> layer_scale_init_value;
  bool noskip = true;
  Activation act_layer;
  Layer* ffn_ = nullptr;
  Layer* norm_ = nullptr;
};

}  // namespace

LayerPtr make_edge_residual() { return std::make_unique<EdgeResidual>(); }
LayerPtr make_universal_inverted_residual() { return std::make_unique<UniversalInvertedResidual>(); }
LayerPtr make_multi_scale_fusion_adapter() { return std::make_unique<MultiScaleFusionAdapter>(); }

std::vector<std::string_view> fusion_parts(std::string_view norm_layer) {
  return {"UniversalInvertedResidual", norm_class(norm_layer)};
}

std::vector<std::string_view> later_fusion_parts(std::string_view norm_layer) { return conv_parts(2, norm_layer); }

}  // namespace attn::keras
