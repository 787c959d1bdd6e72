// Dense, and layers that return their input.
#include <array>

#include "classes/any_number.h"
#include "classes/dense_kernel.h"
#include "classes/layers/layers.h"
#include "classes/layers/lora.h"
#include "classes/training.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;

/// output = activation(inputs · kernel + bias) over the last axis.
class Dense : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("units", units);
    f("activation", activation);
    f("use_bias", use_bias);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("kernel_regularizer", kernel_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("kernel_constraint", kernel_constraint);
    f("bias_constraint", bias_constraint);
    f("quantization_config", quantization_config, 313);
    lora.fields(f);
  }
  void check(const Ref& config) override { lora.check(config); }
  [[nodiscard]] bool supports_masking() const override { return true; }

  void build(Weights& w, Call& call) override {
    const Shape& in = call.shape("inputs");
    if (in.rank() < 2) throw bad_input("expected an input of rank 2 or more, got {}", in.str());
    if (in.back() == kUnknown) throw bad_input("the last dimension of the input must be known, got {}", in.str());
    if (const auto how = quantization_of(policy, quantization_config)) {
      lora.expect_known(*how);
      std::string rows = "abcdefghijklmnopqrstuvwxyz";
      rows.resize(static_cast<std::size_t>(in.rank() - 1));
      DenseKernel::Floats floats{{rows + "X", "XY", rows + "Y"}, {in.back(), units},
                                 kernel_initializer.value,       {},
                                 bias_initializer.value,         false};
      if (use_bias) floats.bias = Shape{units};
      kernel_.declare(w, *how, quantization_config, std::move(floats));
      return lora.declare(w, "kernel", {in.back(), units});
    }
    w.add("kernel", {in.back(), units}, kernel_initializer, !lora.is_on());
    if (use_bias) w.add("bias", {units}, bias_initializer);
    lora.declare(w, "kernel", {in.back(), units});
  }

  Arg call(Call& call) override {
    if (kernel_.is_quantized()) {
      const graph::ValueId x = call.tensor("inputs")->id;
      const auto beside = lora.beside(call, x, kernel_.letters());
      return Call::result(activation.apply(call.builder(), kernel_.multiply(call, x, beside)));
    }
    // The inputs may be integers, which are not yet cast.
    const graph::ValueId x = call.builder().cast(call.tensor("inputs")->id, call.compute_dtype());
    std::vector<graph::ValueId> inputs = {x, lora.added(call, call.weight(0))};
    if (use_bias) inputs.push_back(call.weight(1));
    return Call::result(
        activation.apply(call.builder(), call.builder().apply(graph::Linear{1, use_bias, {}, false}, inputs)));
  }

  [[nodiscard]] bool quantizes() const override { return true; }
  void quantize(const Quantization& how) override {
    policy.quantize(how);
    quantization_config = QuantizationConfig::of(how);
  }

  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    // Keras's compute_output_shape ignores activations that halve the axis (glu).
    Shape shape = call.shape("inputs");
    shape[-1] = units;
    return std::vector<Shape>{shape};
  }

 private:
  Positive units;
  Activation activation;
  bool use_bias = true;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, bias_regularizer;
  Constraint kernel_constraint, bias_constraint;
  QuantizationConfig quantization_config;
  DenseKernel kernel_;  // the kernel, if weights are quantized
  Lora lora;
};

class ActivationLayer : public Layer {
 public:
  void fields(Fields& f) override { f.required("activation", activation); }
  [[nodiscard]] bool supports_masking() const override { return true; }
  Arg call(Call& call) override {
    const TensorPtr input = call.tensor("inputs");
    const graph::ValueId out = activation.apply(call.builder(), input->id);
    return out == input->id ? input : Call::result(out);
  }

 private:
  Activation activation;
};

/// Layers that act only in training. They return their input: the same object with its mask.
class PassThrough : public Layer {
 public:
  [[nodiscard]] bool supports_masking() const override { return true; }
  Arg call(Call& call) override { return call.arg("inputs"); }
};

class Identity : public PassThrough {
 public:
  [[nodiscard]] bool supports_masking() const override { return !follows_keras2(); }
  Arg call(Call& call) override {
    return follows_keras2() ? Arg(Call::result(call.tensor("inputs")->id)) : PassThrough::call(call);
  }
};

class Dropout : public PassThrough {
 public:
  void fields(Fields& f) override {
    f.required("rate", rate);
    f("seed", seed);
    f("noise_shape", noise_shape);
  }
  void check(const Ref& config) override {
    if (rate < 0.0 || rate > 1.0) config["rate"].fail("expected a number from 0 to 1, got " + config["rate"].kind());
  }
  Arg call(Call& call) override {
    if (!drops(call, rate)) return PassThrough::call(call);
    const graph::ValueId inputs = call.tensor("inputs")->id;
    return Call::result(dropped(call, inputs, rate, seed.json, noise_of(noise_shape.json, call.shape("inputs"))));
  }

 private:
  Number rate;
  Opaque seed, noise_shape;
};

/// Masks the steps whose features all equal `mask_value`; sets their features to 0.
class Masking : public Layer {
 public:
  void fields(Fields& f) override { f("mask_value", mask_value); }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const graph::ValueId x = call.tensor("inputs")->id;
    const int last = b.shape(x).rank() - 1;
    const auto differs = b.binary(BinaryFn::not_equal, x, b.scalar_like(x, mask_value));
    const auto kept = b.apply(graph::Reduce{graph::ReduceFn::any, {last}, true}, {differs});
    const TensorPtr out = Call::result(b.binary(BinaryFn::multiply, x, b.cast(kept, b.dtype(x))));
    out->mask = b.apply(graph::Reduce{graph::ReduceFn::any, {last}, false}, {differs});
    return out;
  }

 private:
  AnyNumber mask_value;
};

constexpr std::array kCoreClasses = {
    ClassInfo{.name = "Dense",
              .make = make_layer<Dense>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: d_in d_out; bias: d_out"},
    ClassInfo{.name = "Activation", .make = make_layer<ActivationLayer>, .since = 300, .role = Role::activation},
    ClassInfo{.name = "Identity", .make = make_layer<Identity>, .since = 300, .role = Role::pass_through},
    ClassInfo{.name = "Dropout", .make = make_layer<Dropout>, .since = 300, .role = Role::training},
    ClassInfo{.name = "Masking", .make = make_layer<Masking>, .since = 300, .role = Role::pass_through},
};

}  // namespace

Family core_classes() { return kCoreClasses; }

}  // namespace attn::keras
