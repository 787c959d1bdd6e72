#include "families/blocks/images/mobile_layers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "classes/layers/spatial.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/rms_norm.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// The RMS normalization of channels, whose result is rounded before it is scaled.
class RmsNorm2d final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("dim", dim);
    f("eps", eps);
  }
  void build(Weights& w, Call&) override { w.add("gamma", {dim}, Initializer("ones")); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id, gamma = call.weight(0);
    const DType given = b.dtype(x);
    expect_rank(b.shape(x), 4);
    if (given == DType::float32 || given == DType::float64)
      return Call::result(rms_normalized(b, x, gamma, eps, given));
    const ValueId normal =
        b.apply(graph::LayerNorm{graph::NormKind::rms, {3}, eps, false, false}, {b.cast(x, DType::float32)});
    return Call::result(b.binary(graph::BinaryFn::multiply, b.cast(normal, given), gamma));
  }

 private:
  Positive dim;
  Number eps = 1e-6;
};

/// Multiplies each channel by a weight.
class LayerScale2d final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("dim", dim);
    f("init_values", init_values);
  }
  void build(Weights& w, Call&) override {
    graph::Initializer constant = Initializer("constant").value;
    constant.value = init_values;
    w.add("gamma", {dim}, constant);
  }
  Arg call(Call& call) override {
    return Call::result(call.builder().binary(graph::BinaryFn::multiply, call.tensor("inputs")->id, call.weight(0)));
  }

 private:
  Positive dim;
  Number init_values = 1e-5;
};

/// A convolution, a normalization, and perhaps an activation.
class ConvNormAct final : public MobileLayer {
 public:
  void fields(Fields& f) override {
    f.required("out_chs", out_chs);
    f.required("kernel_size", kernel_size);
    f("stride", stride);
    f("dilation", dilation);
    f("groups", groups);
    f("bias", bias);
    f("pad_type", pad_type);
    f("apply_act", apply_act);
    f("act_layer", act_layer);
    f("norm_layer", norm_layer);
    axis_fields(f);
    part_names(f);
  }
  void build(Weights&, Call&) override {
    conv_ = &make_part("Conv2D", "conv",
                       {{"filters", out_chs.value},
                        {"kernel_size", kernel_size.value},
                        {"strides", stride.value},
                        {"padding", pad_type.value},
                        {"dilation_rate", dilation.value},
                        {"groups", groups.value},
                        {"use_bias", bias},
                        {"kernel_initializer", conv_initializer()}});
    norm_ = &make_norm(next_name(norm_class(norm_layer.value)), "norm", out_chs, 1e-5);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr x = apply(call, *norm_, {apply(call, *conv_, {call.tensor("inputs")})});
    return apply_act ? Call::result(act_layer.apply(call.builder(), x->id)) : x;
  }

 private:
  Positive out_chs, kernel_size, stride = 1, dilation = 1, groups = 1;
  bool bias = false, apply_act = true;
  Activation act_layer = Activation::named("relu").value_or(Activation{});
  Layer* conv_ = nullptr;
  Layer* norm_ = nullptr;
};

}  // namespace

LayerPtr make_rms_norm_2d() { return std::make_unique<RmsNorm2d>(); }
LayerPtr make_layer_scale_2d() { return std::make_unique<LayerScale2d>(); }
LayerPtr make_conv_norm_act() { return std::make_unique<ConvNormAct>(); }

std::int64_t adjusted_channels(double channels) {
  if (!(channels <= kMostChannels)) throw bad_input("{} channels are too many", channels);
  constexpr std::int64_t kDivisor = 8;
  const std::int64_t near = static_cast<std::int64_t>(std::max(channels, 0.0) + kDivisor / 2.0) / kDivisor * kDivisor;
  const std::int64_t out = std::max(kDivisor, near);
  return static_cast<double>(out) < 0.9 * channels ? out + kDivisor : out;
}

std::string_view norm_class(std::string_view norm_layer) {
  return norm_layer == "rms_norm" ? "RmsNorm2d" : "BatchNormalization";
}

Json conv_initializer() {
  Json out = Initializer("variance_scaling").json;
  out["config"]["scale"] = 2.0;
  out["config"]["mode"] = "fan_out";
  out["config"]["distribution"] = "untruncated_normal";
  return out;
}

std::vector<std::string_view> conv_parts(std::size_t count, std::string_view norm_layer) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < count; ++i) out.insert(out.end(), {"ConvNormAct", "Conv2D", norm_class(norm_layer)});
  return out;
}

void MobileLayer::check(const Ref& config) {
  if (data_format.json == "channels_first") config["data_format"].fail("attn supports only channels_last");
  if (channel_axis.json == 1) config["channel_axis"].fail("attn supports only the last axis");
}

void MobileLayer::axis_fields(Fields& f) {
  f("data_format", data_format);
  f("channel_axis", channel_axis);
}

Dim MobileLayer::channels(Call& call) {
  const Shape in = call.shape("inputs");
  expect_rank(in, 4);
  if (in.back() == kUnknown) throw bad_input("the channels of the input must be known, got {}", in.str());
  return in.back();
}

Layer& MobileLayer::make_norm(std::string_view called, std::string_view attribute, std::int64_t count, double epsilon) {
  if (norm_layer.value == "rms_norm") return make("RmsNorm2d", called, attribute, {{"dim", count}});
  return make("BatchNormalization", called, attribute, {{"epsilon", epsilon}});
}

void MobileBlock::check(const Ref& config) {
  MobileLayer::check(config);
  check_rate(config, "drop_path_rate", drop_path_rate);
}

Layer& MobileBlock::make_conv(std::string_view attribute, std::int64_t out_chs, std::int64_t kernel_size,
                              Json further) {
  Json arguments = std::move(further);
  arguments["out_chs"] = out_chs;
  arguments["kernel_size"] = kernel_size;
  arguments["pad_type"] = pad_type.value;
  arguments["act_layer"] = act_layer.json;
  arguments["norm_layer"] = norm_layer.value;
  arguments["bias"] = norm_layer.value == "rms_norm";
  const std::string called = next_name("ConvNormAct");
  const std::string conv = next_name("Conv2D");
  arguments["part_names"] = {conv, next_name(norm_class(norm_layer.value))};
  return make("ConvNormAct", called, attribute, std::move(arguments));
}

void MobileBlock::make_end(std::string_view scale_name, Dim in) {
  if (layer_scale_init_value)
    layer_scale_ = &make("LayerScale2d", scale_name, "layer_scale",
                         {{"dim", filters.value}, {"init_values", layer_scale_init_value->value}});
  if (in == filters && stride == 1 && !noskip)
    drop_path_ = &make("Dropout", "drop_path", "drop_path",
                       {{"rate", drop_path_rate.value}, {"noise_shape", {nullptr, 1, 1, 1}}});
}

TensorPtr MobileBlock::finished(Call& call, TensorPtr x, const TensorPtr& shortcut) {
  if (layer_scale_ != nullptr) x = apply(call, *layer_scale_, {x});
  return drop_path_ == nullptr ? x : sum(call, apply(call, *drop_path_, {x}), shortcut);
}

}  // namespace attn::keras
