// Convolutions over sliding windows (keras/src/layers/convolutional).
#include "classes/layers/convolution.h"

#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "classes/layers/layers.h"

namespace attn::keras {

using graph::ValueId;

void ConvolutionLayer::check(const Ref& config) {
  const auto above_one = [](const Window& steps) {
    return std::any_of(steps.items.begin(), steps.items.end(), [](std::int64_t step) { return step > 1; });
  };
  if (!strides_and_dilation() && above_one(strides) && above_one(dilation_rate))
    config["strides"].fail("strides > 1 and dilation_rate > 1 cannot be used together");
}

Dim ConvolutionLayer::channels(Call& call) const {
  const Shape in = call.shape("inputs");
  expect_rank(in, rank_ + 2);
  const Dim out = in[format.channel_axis(in.rank())];
  if (out == kUnknown) throw bad_input("the channels of the input must be known, got {}", in.str());
  return out;
}

Shape ConvolutionLayer::kernel_shape(const Shape& last) const {
  Shape out(kernel_size.items);
  out.append(last);
  return out;
}

ValueId ConvolutionLayer::convolve(Call& call, ValueId x, ValueId kernel, std::int64_t groups,
                                   std::optional<int> bias) const {
  graph::Conv conv;
  conv.strides = strides.items;
  conv.dilation = dilation_rate.items;
  if (padding.value == "same") conv.padding = graph::Padding::same;
  if (padding.value == "causal") conv.padding = graph::Padding::causal;
  conv.groups = groups;
  conv.bias = bias.has_value();
  std::vector<ValueId> inputs = {x, kernel};
  if (bias) inputs.push_back(call.weight(*bias));
  return call.builder().apply(conv, inputs);
}

Arg ConvolutionLayer::finish(Call& call, ValueId y) const {
  // The activation is applied in the layer's data format, because softmax works on its last axis.
  return Call::result(activation.apply(call.builder(), format.as_given(call.builder(), y)));
}

namespace {

std::int64_t product(std::int64_t a, std::int64_t b) {
  const auto out = checked_mul(a, b);
  if (!out) throw bad_input("{} times {} channels are too many", a, b);
  return *out;
}

/// A convolution: each of `filters` outputs reads a window over all channels of its group.
class Conv : public ConvolutionLayer {
 public:
  explicit Conv(int rank) : ConvolutionLayer(rank) {
    if (rank == 1) padding.allowed.emplace_back("causal");
  }
  void fields(Fields& f) override {
    f.required("filters", filters);
    f.required("kernel_size", kernel_size);
    f("strides", strides);
    f("padding", padding);
    format.field(f);
    f("dilation_rate", dilation_rate);
    f("groups", groups);
    f("activation", activation);
    f("use_bias", use_bias);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("kernel_regularizer", kernel_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("activity_regularizer", activity);
    f("kernel_constraint", kernel_constraint);
    f("bias_constraint", bias_constraint);
  }
  void check(const Ref& config) override {
    ConvolutionLayer::check(config);
    if (filters % groups != 0)
      config["filters"].fail(fmt::format("{} filters cannot be divided into {} groups", filters.value, groups.value));
  }

  void build(Weights& w, Call& call) override {
    const Dim in = channels(call);
    if (in % groups != 0) throw bad_input("{} channels cannot be divided into {} groups", in, groups.value);
    w.add("kernel", kernel_shape({in / groups, filters}), kernel_initializer);
    if (use_bias) w.add("bias", {filters}, bias_initializer);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = format.channels_last(b, call.tensor("inputs")->id);
    return finish(call, convolve(call, x, call.weight(0), groups, bias(1)));
  }

 private:
  Positive filters, groups;
  Initializer kernel_initializer{"glorot_uniform"};
  Regularizer kernel_regularizer;
  Constraint kernel_constraint;
};

/// A depthwise convolution: each channel has `depth_multiplier` outputs of its own.
class DepthwiseConv : public ConvolutionLayer {
 public:
  explicit DepthwiseConv(int rank) : ConvolutionLayer(rank) {}
  void fields(Fields& f) override {
    f("depth_multiplier", depth_multiplier);
    f.required("kernel_size", kernel_size);
    f("strides", strides);
    f("padding", padding);
    format.field(f);
    f("dilation_rate", dilation_rate);
    f("activation", activation);
    f("use_bias", use_bias);
    f("depthwise_initializer", depthwise_initializer);
    f("bias_initializer", bias_initializer);
    f("depthwise_regularizer", depthwise_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("activity_regularizer", activity);
    f("depthwise_constraint", depthwise_constraint);
    f("bias_constraint", bias_constraint);
  }
  [[nodiscard]] bool strides_and_dilation() const override { return true; }

  void build(Weights& w, Call& call) override {
    const Dim in = channels(call);
    w.add("kernel", kernel_shape({in, depth_multiplier}), depthwise_initializer);
    if (use_bias) w.add("bias", {product(in, depth_multiplier)}, bias_initializer);
  }

  Arg call(Call& call) override { return finish(call, depthwise(call, bias(1))); }

 protected:
  /// Returns a convolution with one group for each channel. Output c·M + m uses the kernel (…, c, m).
  [[nodiscard]] ValueId depthwise(Call& call, std::optional<int> bias_index) const {
    graph::Builder& b = call.builder();
    const ValueId x = format.channels_last(b, call.tensor("inputs")->id);
    const Dim in = b.shape(x).back();
    const ValueId kernel = b.reshape(call.weight(0), kernel_shape({1, product(in, depth_multiplier)}));
    return convolve(call, x, kernel, in, bias_index);
  }

  Positive depth_multiplier;
  Initializer depthwise_initializer{"glorot_uniform"};
  Regularizer depthwise_regularizer;
  Constraint depthwise_constraint;
};

/// A depthwise convolution, then a dense map over the channels.
class SeparableConv : public DepthwiseConv {
 public:
  explicit SeparableConv(int rank) : DepthwiseConv(rank) {}
  void fields(Fields& f) override {
    f("depth_multiplier", depth_multiplier);
    f.required("filters", filters);
    f.required("kernel_size", kernel_size);
    f("strides", strides);
    f("padding", padding);
    format.field(f);
    f("dilation_rate", dilation_rate);
    f("activation", activation);
    f("use_bias", use_bias);
    f("depthwise_initializer", depthwise_initializer);
    f("pointwise_initializer", pointwise_initializer);
    f("bias_initializer", bias_initializer);
    f("depthwise_regularizer", depthwise_regularizer);
    f("pointwise_regularizer", pointwise_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("activity_regularizer", activity);
    f("depthwise_constraint", depthwise_constraint);
    f("pointwise_constraint", pointwise_constraint);
    f("bias_constraint", bias_constraint);
  }

  void build(Weights& w, Call& call) override {
    const Dim in = channels(call);
    w.add("depthwise_kernel", kernel_shape({in, depth_multiplier}), depthwise_initializer);
    Shape pointwise(std::vector<Dim>(static_cast<std::size_t>(rank_), 1));
    pointwise.append({product(in, depth_multiplier), filters});
    w.add("pointwise_kernel", pointwise, pointwise_initializer);
    if (use_bias) w.add("bias", {filters}, bias_initializer);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId wide = depthwise(call, std::nullopt);
    std::vector<ValueId> inputs = {wide, b.reshape(call.weight(1), {b.shape(wide).back(), filters})};
    if (use_bias) inputs.push_back(call.weight(2));
    return finish(call, b.apply(graph::Linear{1, use_bias, {}, false}, inputs));
  }

 private:
  Positive filters;
  Initializer pointwise_initializer{"glorot_uniform"};
  Regularizer pointwise_regularizer;
  Constraint pointwise_constraint;
};

constexpr std::array kSeparableKeras2 = {Keras2Key{"groups", {}, "1"}, Keras2Key{"kernel_initializer"},
                                         Keras2Key{"kernel_regularizer"}, Keras2Key{"kernel_constraint"}};

constexpr std::array kConvolutionClasses = {
    ClassInfo{.name = "Conv1D",
              .make = make_with<Conv, 1>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k c_in f; bias: f"},
    ClassInfo{.name = "Conv2D",
              .make = make_with<Conv, 2>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k_h k_w c_in f; bias: f"},
    ClassInfo{.name = "Conv3D",
              .make = make_with<Conv, 3>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k_d k_h k_w c_in f; bias: f"},
    ClassInfo{.name = "DepthwiseConv1D",
              .make = make_with<DepthwiseConv, 1>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k c_in m; bias: c_in·m",
              .keras2_keys = kOneGroup},
    ClassInfo{.name = "DepthwiseConv2D",
              .make = make_with<DepthwiseConv, 2>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k_h k_w c_in m; bias: c_in·m",
              .keras2_keys = kOneGroup},
    ClassInfo{.name = "SeparableConv1D",
              .make = make_with<SeparableConv, 1>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "depthwise_kernel: k c_in m; pointwise_kernel: - c_in·m f; bias: f",
              .keras2_keys = kSeparableKeras2},
    ClassInfo{.name = "SeparableConv2D",
              .make = make_with<SeparableConv, 2>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "depthwise_kernel: k_h k_w c_in m; pointwise_kernel: - - c_in·m f; bias: f",
              .keras2_keys = kSeparableKeras2},
};

}  // namespace

Family convolution_classes() { return kConvolutionClasses; }

}  // namespace attn::keras
