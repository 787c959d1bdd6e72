// Transposed convolutions (keras/src/layers/convolutional).
#include <array>

#include "classes/layers/convolution.h"
#include "classes/layers/layers.h"
#include "classes/ops/array/transposed.h"

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
    const ValueId x = format.channels_last(b, call.tensor("inputs")->id);
    const TransposedWindow window{strides.items, dilation_rate.items, padding.value == "same", output_padding};
    return finish(call, transposed_convolution(b, x, call.weight(0), window,
                                               use_bias ? std::optional(call.weight(1)) : std::nullopt));
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
