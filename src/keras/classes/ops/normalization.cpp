// Normalizations of keras.ops.nn.
#include <algorithm>

#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::NormKind;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

Expression mean(const Expression& x, const std::vector<int>& axes, bool keepdims) {
  return x.reduced({ReduceFn::mean, axes, keepdims});
}

/// Returns the sizes of some axes.
Shape sizes_of(const Shape& shape, const std::vector<int>& axes) {
  Shape out;
  for (const int axis : axes) out.push_back(shape[axis]);
  return out;
}

/// Adds a normalization with an optional scale and offset, computed in float32 or higher. The operation includes a
/// scale or offset that has the shape of the axes; others are broadcast after it.
ValueId normalized(Call& call, NormKind kind, const Axes& axis, std::optional<Number> epsilon, std::string_view scale,
                   std::string_view offset) {
  Builder& b = call.builder();
  const ValueId x = call.tensor("x")->id;
  const Shape shape = b.shape(x);
  const std::vector<int> axes = axes_in(axis, shape);
  const Shape sizes = sizes_of(shape, axes);
  const bool trailing = axes.front() == shape.rank() - static_cast<int>(axes.size());

  DType dtype = b.dtype(x);
  const auto affine = [&](std::string_view argument) -> std::optional<Operand> {
    if (argument.empty() || !call.has(argument)) return std::nullopt;
    Operand operand(call, argument);
    if (operand.own_dtype() != dtype) dtype = as_precise(b.dtype(x));
    return operand;
  };
  const auto gamma = affine(scale), beta = affine(offset);
  if (!is_floating(dtype)) dtype = as_precise(dtype);

  // Keras aligns a vector argument of layer_normalization with its axes, even if they are not the last.
  const auto belongs = [&](const std::optional<Operand>& operand) {
    return !operand || (operand->shape() == sizes && (trailing || kind != NormKind::rms));
  };
  const bool inside = belongs(gamma) && belongs(beta);
  graph::LayerNorm norm{kind, axes, epsilon ? double{*epsilon} : kEpsilon, inside && gamma, inside && beta};
  std::vector<ValueId> inputs = {b.cast(x, dtype)};
  if (norm.scale) inputs.push_back(gamma->as(dtype));
  if (norm.center) inputs.push_back(beta->as(dtype));
  Expression out{b, b.apply(norm, inputs)};
  Shape along(std::vector<Dim>(static_cast<std::size_t>(shape.rank()), 1));
  for (const int at : axes) along[at] = shape[at];
  const auto laid = [&](const Operand& operand) {
    const ValueId value = operand.as(dtype);
    return Expression{b, belongs(operand) ? b.reshape(value, along) : value};
  };
  if (!inside && gamma) out = out * laid(*gamma);
  if (!inside && beta) out = out + laid(*beta);
  return out.cast(b.dtype(x));
}

inline constexpr std::array<std::string_view, 3> kLayerNormArguments = {"x", "gamma", "beta"};

class LayerNorm : public WithArguments<kLayerNormArguments> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("epsilon", epsilon);
    f("rms_scaling", rms_scaling);
  }
  Arg call(Call& call) override {
    // The deprecated RMS scaling ignores the offset.
    return Call::result(normalized(call, rms_scaling ? NormKind::rms_layer : NormKind::layer, axis, epsilon, "gamma",
                                   rms_scaling ? "" : "beta"));
  }

 private:
  Axes axis = std::int64_t{-1};
  std::optional<Number> epsilon;
  bool rms_scaling = false;
};

inline constexpr std::array<std::string_view, 2> kRmsNormArguments = {"x", "scale"};

class RmsNorm : public WithArguments<kRmsNormArguments> {
 public:
  void fields(Fields& f) override {
    Opaque none;  // reads the scale, which was not an argument of the call before 3.11
    f("scale", none, kOldest, 310);
    f("axis", axis);
    f("epsilon", epsilon);
  }
  Arg call(Call& call) override { return Call::result(normalized(call, NormKind::rms, axis, epsilon, "scale", "")); }

 private:
  Axes axis = std::int64_t{-1};
  std::optional<Number> epsilon;
};

inline constexpr std::array<std::string_view, 5> kBatchNormArguments = {"x", "mean", "variance", "offset", "scale"};

class BatchNorm : public WithArguments<kBatchNormArguments> {
 public:
  void fields(Fields& f) override {
    f.required("axis", axis);
    f("epsilon", epsilon);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    graph::BatchNorm norm{axis_in(axis, b.shape(x)), epsilon, call.has("scale"), call.has("offset")};
    std::vector<ValueId> inputs = {x};
    for (const std::string_view part : {"mean", "variance", "scale", "offset"})
      if (call.has(part)) inputs.push_back(Operand(call, part).as(b.dtype(x)));
    return Call::result(b.apply(norm, inputs));
  }

 private:
  std::int64_t axis = -1;
  Number epsilon{1e-3};
};

/// Mean and variance.
class Moments : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("axes", axes);
    f("keepdims", keepdims);
    f("synchronized", synchronized);
  }
  Arg call(Call& call) override {
    const Expression x{call.builder(), call.tensor("x")->id};
    const Expression precise = x.cast(as_precise(x.dtype()));
    const std::vector<int> over = axes_in(axes, x.shape());
    const Expression spread = mean(square(precise - mean(precise, over, true)), over, keepdims);
    return ArgList{Call::result(mean(x, over, keepdims)), Call::result(spread.cast(x.dtype()))};
  }

 private:
  Axes axes = std::int64_t{-1};
  bool keepdims = false, synchronized = false;
};

/// x divided by its norm of a given order along some axes; the norm is at least epsilon.
class Normalize : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("order", order);
    f("epsilon", epsilon, 306);
  }
  Arg call(Call& call) override {
    const Expression x{call.builder(), call.tensor("x")->id};
    const double smallest = epsilon ? double{*epsilon} : kEpsilon;
    const graph::Reduce sum{ReduceFn::sum, axes_in(axis, x.shape()), true};
    if (order == 2) {
      const Expression inverse = square(x).reduced(sum).unary(UnaryFn::rsqrt);
      return Call::result(x * min(inverse, x.number(1.0 / smallest)));
    }
    if (sum.axes.size() != 1) throw bad_input("a norm of order {} takes one axis", std::int64_t{order});
    const auto power = static_cast<double>(std::int64_t{order});
    const Expression norm = pow(pow(abs(x), x.number(power)).reduced(sum), x.number(1.0 / power));
    return Call::result(x / max(norm, x.number(smallest)));
  }

 private:
  std::optional<Axes> axis = Axes{std::int64_t{-1}};
  Positive order{2};
  std::optional<Number> epsilon;
};

constexpr std::array kNormalizationOperations = {
    ClassInfo{"LayerNorm", make_layer<LayerNorm>, 311, kNnOps, Role::normalization},
    ClassInfo{.name = "RMSNorm",
              .make = make_layer<RmsNorm>,
              .since = 309,
              .module = kNnOps,
              .role = Role::normalization,
              .later_arguments = "scale 3.11"},
    ClassInfo{.name = "BatchNorm",
              .make = make_layer<BatchNorm>,
              .since = 300,
              .module = kNnOps,
              .role = Role::normalization,
              .named_until = 301},
    ClassInfo{.name = "Moments", .make = make_layer<Moments>, .since = 300, .module = kNnOps, .named_until = 301},
    ClassInfo{"Normalize", make_layer<Normalize>, 300, kNnOps, Role::normalization},
};

}  // namespace

Family normalization_operations() { return kNormalizationOperations; }

}  // namespace attn::keras
