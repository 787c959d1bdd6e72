// Transposed convolutions: zeros are inserted between the input cells according to the strides, then an ordinary
// convolution with the flipped kernel runs over it. The sizes match
// keras.src.backend.common.backend_utils.compute_conv_transpose_output_shape; the offset matches the gradient of
// TensorFlow's convolution.
#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "classes/layers/convolution.h"
#include "classes/layers/layers.h"

namespace attn::keras {
namespace {

using graph::ValueId;

class ConvTranspose : public ConvolutionLayer {
 public:
  explicit ConvTranspose(int rank) : ConvolutionLayer(rank) {}
  void fields(Fields& f) override {
    f.required("filters", filters);
    f.required("kernel_size", kernel_size);
    f("strides", strides);
    f("padding", padding);
    output_padding_field(f);
    format.field(f);
    f("dilation_rate", dilation_rate);
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
    if (!output_padding) return;
    for (std::size_t i = 0; i < strides.items.size(); ++i)
      if ((*output_padding)[i] >= strides.items[i])
        config["output_padding"].fail("expected less than strides, got " + config["output_padding"].kind());
  }

  void build(Weights& w, Call& call) override {
    w.add("kernel", kernel_shape({filters, channels(call)}), kernel_initializer);
    if (use_bias) w.add("bias", {filters}, bias_initializer);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    ValueId x = format.channels_last(b, call.tensor("inputs")->id);
    for (int i = 0; i < rank_; ++i) x = spread(b, x, i);

    // Flips the kernel: (window…, F, C) → (window…, C, F).
    graph::Slice flip;
    flip.ranges.resize(static_cast<std::size_t>(rank_) + 2);
    std::vector<int> order;
    for (int i = 0; i < rank_; ++i) {
      flip.ranges[static_cast<std::size_t>(i)].step = -1;
      order.push_back(i);
    }
    order.insert(order.end(), {rank_ + 1, rank_});
    graph::Conv conv;
    conv.strides.assign(static_cast<std::size_t>(rank_), 1);
    conv.dilation = dilation_rate.items;
    conv.bias = use_bias;
    std::vector<ValueId> inputs = {x, b.transpose(b.apply(flip, {call.weight(0)}), order)};
    if (use_bias) inputs.push_back(call.weight(1));
    return finish(call, b.apply(conv, inputs));
  }

 private:
  void output_padding_field(Fields& f) {
    if (!f.reading()) {
      if (f.version() >= 315) f.put("output_padding", output_padding ? python_tuple(*output_padding) : Json());
      return;
    }
    const auto ref = f.take("output_padding");
    if (!ref || ref->is_null()) return;
    const auto rank = static_cast<std::size_t>(rank_);
    output_padding.emplace();
    if (ref->is_integer()) {
      output_padding->assign(rank, ref->integer_from(0));
    } else if (ref->is_array() && ref->size() == rank) {
      for (const Ref& item : ref->elements()) output_padding->push_back(item.integer_from(0));
    } else {
      ref->fail(fmt::format("expected an integer >= 0 or a list of {}, got {}", rank, ref->kind()));
    }
  }

  /// Inserts stride − 1 zeros after each cell along spatial axis i of x, and pads both ends for the window.
  [[nodiscard]] ValueId spread(graph::Builder& b, ValueId x, int i) const {
    const auto at = static_cast<std::size_t>(i);
    const int axis = i + 1;
    const std::int64_t stride = strides.items[at];
    const auto span = checked_mul(kernel_size.items[at] - 1, dilation_rate.items[at]);
    if (!span || *span > kMaxSize / 4 || stride > kMaxSize / 4)
      throw bad_input("a kernel of {} with the dilation {} and the stride {} is too large", kernel_size.items[at],
                      dilation_rate.items[at], stride);
    const std::int64_t window = *span + 1;
    // The output has (I − 1)·stride + extent cells for I input cells; the first `cut` cells of the full result are
    // dropped.
    std::int64_t extent = 0, cut = 0;
    if (padding.value == "same") {
      extent = output_padding ? window % 2 + (*output_padding)[at] : stride;
      cut = std::max<std::int64_t>(window - extent, 0) / 2;
    } else {
      extent = output_padding ? window + (*output_padding)[at] : std::max(window, stride);
    }
    if (extent < 1) throw bad_input("output_padding {} is too small for a kernel of {}", extent - window % 2, window);

    std::int64_t after = extent - 1 + cut;
    if (stride > 1) {
      Shape spread_shape = b.shape(x);
      if (spread_shape[axis] != kUnknown) {
        const auto longer = checked_mul(spread_shape[axis], stride);
        if (!longer) throw bad_input("an axis of {} cannot be spread by a stride of {}", spread_shape[axis], stride);
        spread_shape[axis] = *longer;
      }
      x = b.expand_dims(x, axis + 1);
      graph::Pad zeros;
      zeros.before.assign(static_cast<std::size_t>(b.shape(x).rank()), 0);
      zeros.after = zeros.before;
      zeros.after[static_cast<std::size_t>(axis) + 1] = stride - 1;
      x = b.reshape(b.apply(zeros, {x}), spread_shape);
      after -= stride - 1;
    }
    const auto rank = static_cast<std::size_t>(b.shape(x).rank());
    graph::Pad pad;
    pad.before.assign(rank, 0);
    pad.after = pad.before;
    pad.before[static_cast<std::size_t>(axis)] = window - 1 - cut;
    pad.after[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(after, 0);
    x = b.apply(pad, {x});
    if (after >= 0) return x;
    graph::Slice slice;
    slice.ranges.resize(rank);
    slice.ranges[static_cast<std::size_t>(axis)].stop = after;
    return b.apply(slice, {x});
  }

  Positive filters;
  std::optional<std::vector<std::int64_t>> output_padding;
  Initializer kernel_initializer{"glorot_uniform"};
  Regularizer kernel_regularizer;
  Constraint kernel_constraint;
};

constexpr std::array kConvTransposeClasses = {
    ClassInfo{.name = "Conv1DTranspose",
              .make = make_with<ConvTranspose, 1>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k f c_in; bias: f",
              .keras2_keys = kOneGroup},
    ClassInfo{.name = "Conv2DTranspose",
              .make = make_with<ConvTranspose, 2>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k_h k_w f c_in; bias: f",
              .keras2_keys = kOneGroup},
    ClassInfo{.name = "Conv3DTranspose",
              .make = make_with<ConvTranspose, 3>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: k_d k_h k_w f c_in; bias: f",
              .keras2_keys = kOneGroup},
};

}  // namespace

Family conv_transpose_classes() { return kConvTransposeClasses; }

}  // namespace attn::keras
