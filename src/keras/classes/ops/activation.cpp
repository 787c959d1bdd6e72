// The activations of keras.ops.nn.

#include "classes/any_number.h"
#include "classes/ops/ops.h"
#include "config/activated.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::SoftmaxKind;
using graph::UnaryFn;
using graph::ValueId;

constexpr graph::Unary kRelu{UnaryFn::relu, 0.0, 0.0, kInfinity};
constexpr graph::Unary kRelu6{UnaryFn::relu, 0.0, 0.0, 6.0};
constexpr graph::Unary kSigmoid{UnaryFn::sigmoid};
constexpr graph::Unary kSilu{UnaryFn::silu};
constexpr graph::Unary kSelu{UnaryFn::selu};
constexpr graph::Unary kSoftplus{UnaryFn::softplus};
constexpr graph::Unary kSoftsign{UnaryFn::softsign};
constexpr graph::Unary kHardSigmoid{UnaryFn::hard_sigmoid};
constexpr graph::Unary kHardSilu{UnaryFn::hard_silu};
constexpr graph::Unary kHardTanh{UnaryFn::hard_tanh};
constexpr graph::Unary kLogSigmoid{UnaryFn::log_sigmoid};
constexpr graph::Unary kTanhShrink{UnaryFn::tanh_shrink};
constexpr graph::Unary kSparsePlus{UnaryFn::sparse_plus};
constexpr graph::Unary kSparseSigmoid{UnaryFn::sparse_sigmoid};

template <const graph::Unary& kFunction>
class SimpleActivation : public WithArguments<kX> {
 public:
  Arg call(Call& call) override { return Call::result(activated(call.builder(), kFunction, call.tensor("x")->id)); }
};

/// An activation with a parameter `a` in its config.
struct ParametricFunction {
  graph::Unary unary;  ///< `a` is Keras's default
  std::string_view key;
  bool integral = false;  ///< Keras's default is an integer
};
constexpr ParametricFunction kLeakyRelu{{UnaryFn::relu, 0.2, 0.0, kInfinity}, "negative_slope"};
constexpr ParametricFunction kElu{{UnaryFn::elu, 1.0}, "alpha"};
constexpr ParametricFunction kCelu{{UnaryFn::celu, 1.0}, "alpha"};
constexpr ParametricFunction kSoftShrink{{UnaryFn::soft_shrink, 0.5}, "threshold"};
constexpr ParametricFunction kHardShrink{{UnaryFn::hard_shrink, 0.5}, "threshold"};
constexpr ParametricFunction kSquareplus{{UnaryFn::squareplus, 4.0}, "b", true};

template <const ParametricFunction& kRow>
class ParametricActivation : public WithArguments<kX> {
 public:
  ParametricActivation() { number.integral = kRow.integral; }
  void fields(Fields& f) override { f(kRow.key, number); }
  Arg call(Call& call) override {
    graph::Unary unary = kRow.unary;
    unary.a = number;
    return Call::result(activated(call.builder(), unary, call.tensor("x")->id));
  }

 private:
  Number number{kRow.unary.a};
};

class Threshold : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    // Keras 3.8 to 3.10 used other keys.
    const bool renamed = f.reading() ? f.config().find("threshold_value").has_value() : f.version() < 311;
    f.required(renamed ? "threshold_value" : "threshold", threshold);
    f.required(renamed ? "value" : "default_value", default_value);
  }
  Arg call(Call& call) override {
    return Call::result(call.builder().unary(UnaryFn::threshold, call.tensor("x")->id, threshold, default_value));
  }

 private:
  AnyNumber threshold, default_value;
};

class Gelu : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("approximate", approximate); }
  Arg call(Call& call) override {
    return Call::result(call.builder().unary(approximate ? UnaryFn::gelu_tanh : UnaryFn::gelu, call.tensor("x")->id));
  }

 private:
  bool approximate = true;
};

/// The first half of an axis times the sigmoid of the second.
class Glu : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const int at = axis_in(axis, b.shape(x));
    const Dim size = b.shape(x)[at];
    if (size % 2 != 0 && size != kUnknown) throw bad_input("glu halves axis {}, which has {} elements", axis, size);
    const auto half = [&](graph::Range range) {
      graph::Slice slice{std::vector<graph::Range>(static_cast<std::size_t>(b.shape(x).rank()))};
      slice.ranges[static_cast<std::size_t>(at)] = range;
      return b.apply(slice, {x});
    };
    const Dim middle = size == kUnknown ? 0 : size / 2;
    const ValueId gate = b.unary(UnaryFn::sigmoid, half({middle, {}, 1}));
    return Call::result(b.binary(graph::BinaryFn::multiply, half({{}, middle, 1}), gate));
  }

 private:
  std::int64_t axis = -1;
};

/// Softmax and similar functions over one or several axes, or over all elements.
template <SoftmaxKind kKind>
class SoftmaxOperation : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return Call::result(b.apply(graph::Softmax{kKind, axes_in(axis, b.shape(x))}, {x}));
  }

 private:
  std::optional<Axes> axis = Axes{std::int64_t{-1}};
};

constexpr std::array kActivationOperations = {
    ClassInfo{"Relu", make_layer<SimpleActivation<kRelu>>, 300, kNnOps},
    ClassInfo{"Relu6", make_layer<SimpleActivation<kRelu6>>, 300, kNnOps},
    ClassInfo{"Sigmoid", make_layer<SimpleActivation<kSigmoid>>, 300, kNnOps},
    ClassInfo{"Silu", make_layer<SimpleActivation<kSilu>>, 300, kNnOps},
    ClassInfo{"Selu", make_layer<SimpleActivation<kSelu>>, 300, kNnOps},
    ClassInfo{"Softplus", make_layer<SimpleActivation<kSoftplus>>, 300, kNnOps},
    ClassInfo{"Softsign", make_layer<SimpleActivation<kSoftsign>>, 300, kNnOps},
    ClassInfo{"HardSigmoid", make_layer<SimpleActivation<kHardSigmoid>>, 300, kNnOps},
    ClassInfo{"HardSilu", make_layer<SimpleActivation<kHardSilu>>, 300, kNnOps},
    ClassInfo{.name = "HardTanh",
              .make = make_layer<SimpleActivation<kHardTanh>>,
              .since = 307,
              .module = kNnOps,
              .named_until = 0},
    ClassInfo{"LogSigmoid", make_layer<SimpleActivation<kLogSigmoid>>, 300, kNnOps},
    ClassInfo{.name = "TanhShrink",
              .make = make_layer<SimpleActivation<kTanhShrink>>,
              .since = 307,
              .module = kNnOps,
              .named_until = 0},
    ClassInfo{"SparsePlus", make_layer<SimpleActivation<kSparsePlus>>, 308, kNnOps},
    ClassInfo{"SparseSigmoid", make_layer<SimpleActivation<kSparseSigmoid>>, 310, kNnOps},
    ClassInfo{"LeakyRelu", make_layer<ParametricActivation<kLeakyRelu>>, 300, kNnOps},
    ClassInfo{"Elu", make_layer<ParametricActivation<kElu>>, 300, kNnOps},
    ClassInfo{"Celu", make_layer<ParametricActivation<kCelu>>, 307, kNnOps},
    ClassInfo{"SoftShrink", make_layer<ParametricActivation<kSoftShrink>>, 307, kNnOps},
    ClassInfo{"HardShrink", make_layer<ParametricActivation<kHardShrink>>, 307, kNnOps},
    ClassInfo{"Squareplus", make_layer<ParametricActivation<kSquareplus>>, 307, kNnOps},
    ClassInfo{"Threshold", make_layer<Threshold>, 308, kNnOps},
    ClassInfo{"Gelu", make_layer<Gelu>, 300, kNnOps},
    ClassInfo{"Glu", make_layer<Glu>, 307, kNnOps},
    ClassInfo{"Softmax", make_layer<SoftmaxOperation<SoftmaxKind::softmax>>, 300, kNnOps},
    ClassInfo{"LogSoftmax", make_layer<SoftmaxOperation<SoftmaxKind::log_softmax>>, 300, kNnOps},
    ClassInfo{"Sparsemax", make_layer<SoftmaxOperation<SoftmaxKind::sparsemax>>, 308, kNnOps},
};

}  // namespace

Family activation_operations() { return kActivationOperations; }

}  // namespace attn::keras
