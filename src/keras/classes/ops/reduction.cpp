// Reductions over axes, and cumulative operations.
#include <cmath>
#include <limits>

#include "attn/base/text.h"
#include "classes/any_number.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

/// The reduced axes, and whether they are kept with size 1.
struct ReducedAxes {
  std::vector<int> axes;
  bool keepdims = false;
  [[nodiscard]] graph::Reduce by(ReduceFn fn) const { return {fn, axes, keepdims}; }
  [[nodiscard]] ReducedAxes kept() const { return {axes, true}; }
};

using ReducedFormula = Expression (*)(const Expression&, const ReducedAxes&);
Expression applied(ReduceFn fn, const Expression& x, const ReducedAxes& over) { return x.reduced(over.by(fn)); }
Expression applied(ReducedFormula formula, const Expression& x, const ReducedAxes& over) { return formula(x, over); }

Expression sum(const Expression& x, const ReducedAxes& over) { return x.reduced(over.by(ReduceFn::sum)); }
Expression mean(const Expression& x, const ReducedAxes& over) { return x.reduced(over.by(ReduceFn::mean)); }
Expression greatest(const Expression& x, const ReducedAxes& over) { return x.reduced(over.by(ReduceFn::max)); }
Expression least(const Expression& x, const ReducedAxes& over) { return x.reduced(over.by(ReduceFn::min)); }
Expression range(const Expression& x, const ReducedAxes& over) { return greatest(x, over) - least(x, over); }
Expression nonzero(const Expression& x, const ReducedAxes& over) {
  return sum(x.cast(DType::boolean).cast(DType::int32), over);
}

Expression variance(const Expression& x, const ReducedAxes& over) {
  const Expression precise = x.cast(as_precise(x.dtype()));
  return mean(square(precise - mean(precise, over.kept())), over).cast(x.dtype());
}
Expression deviation(const Expression& x, const ReducedAxes& over) { return sqrt(variance(x, over)); }

Expression number_or(const Expression& x, double value) { return where(isnan(x), x.number(value), x); }
Expression numbers_sum(const Expression& x, const ReducedAxes& over) {
  return sum(is_floating(x.dtype()) ? number_or(x, 0.0) : x, over);
}
Expression numbers_mean(const Expression& x, const ReducedAxes& over) {
  const Expression counted = isnan(x).unary(UnaryFn::logical_not).cast(x.dtype());
  return numbers_sum(x, over) / sum(counted, over);
}

/// The maximum or minimum of all elements except NaN; NaN if there are no others.
template <ReduceFn kFn>
Expression numbers_extremum(const Expression& x, const ReducedAxes& over) {
  if (!is_floating(x.dtype())) return x.reduced(over.by(kFn));
  const Expression extremum = number_or(x, kFn == ReduceFn::max ? -kInfinity : kInfinity).reduced(over.by(kFn));
  return where(isnan(x).reduced(over.by(ReduceFn::all)), x.number(std::nan("")), extremum);
}
Expression numbers_product(const Expression& x, const ReducedAxes& over) {
  return (is_floating(x.dtype()) ? number_or(x, 1.0) : x).reduced(over.by(ReduceFn::prod));
}
Expression numbers_variance(const Expression& x, const ReducedAxes& over) {
  const Expression counted = isnan(x).unary(UnaryFn::logical_not);
  const Expression centered = where(counted, x - numbers_mean(x, over.kept()), x.number(0.0));
  return sum(square(centered), over) / sum(counted.cast(x.dtype()), over);
}
Expression numbers_deviation(const Expression& x, const ReducedAxes& over) { return sqrt(numbers_variance(x, over)); }

/// A reduction over axes, in the dtype that `kRule` returns.
template <auto kFunction, DTypeRule kRule = same>
class Reduction : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("keepdims", keepdims);
  }
  Arg call(Call& call) override { return Call::result(reduced(call)); }

 protected:
  ValueId reduced(Call& call) {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return applied(kFunction, {b, b.cast(x, kRule(b.dtype(x)))}, {axes_in(axis, b.shape(x)), keepdims});
  }

 private:
  std::optional<Axes> axis;
  bool keepdims = false;
};

/// Max and Min, with an optional initial value.
template <auto kFunction, graph::BinaryFn kWithInitial>
class Extremum : public Reduction<kFunction> {
 public:
  void fields(Fields& f) override {
    Reduction<kFunction>::fields(f);
    f("initial", initial);
  }
  Arg call(Call& call) override {
    const ValueId out = this->reduced(call);
    if (!initial) return Call::result(out);
    return Call::result(call.builder().binary(kWithInitial, out, call.builder().scalar_like(out, *initial)));
  }

 private:
  std::optional<AnyNumber> initial;
};

class Prod : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("keepdims", keepdims);
    f("dtype", dtype);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const graph::Reduce reduce{ReduceFn::prod, axes_in(axis, b.shape(x)), keepdims};
    return Call::result(b.apply(reduce, {b.cast(x, dtype.value_or(as_accumulator(b.dtype(x))))}));
  }

 private:
  std::optional<Axes> axis;
  bool keepdims = false;
  std::optional<DType> dtype;
};

class CountNonzero : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    const Expression x{call.builder(), call.tensor("x")->id};
    return Call::result(nonzero(x, {axes_in(axis, x.shape()), false}));
  }

 private:
  std::optional<Axes> axis;
};

/// Argmax and Argmin: the index of the maximum or minimum along an axis, or in the flattened tensor.
template <ReduceFn kFn>
class IndexOf : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("keepdims", keepdims, 303);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    if (axis) return Call::result(b.apply(graph::Reduce{kFn, {axis_in(*axis, shape)}, keepdims}, {x}));
    const ValueId flat = b.apply(graph::Reduce{kFn, {0}, false}, {b.reshape(x, {kUnknown})});
    if (!keepdims) return Call::result(flat);
    return Call::result(b.reshape(flat, Shape(std::vector<Dim>(static_cast<std::size_t>(shape.rank()), 1))));
  }

 private:
  std::optional<std::int64_t> axis;
  bool keepdims = false;
};

/// Nanargmax and Nanargmin: the index of the maximum or minimum among elements that are not NaN; −1 if all are NaN.
template <ReduceFn kFn>
class NumbersIndexOf : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("keepdims", keepdims);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    Expression x{b, call.tensor("x")->id};
    const int rank = x.shape().rank();
    const int at = axis ? axis_in(*axis, x.shape()) : 0;
    if (!axis) x = {b, b.reshape(x, {kUnknown})};
    const graph::Reduce over{kFn, {at}, keepdims && axis};
    Expression index = x.reduced(over);
    if (is_floating(x.dtype())) {
      const Expression none = isnan(x).reduced({ReduceFn::all, {at}, over.keepdims});
      index = number_or(x, kFn == ReduceFn::argmax ? -kInfinity : kInfinity).reduced(over);
      index = where(none, index.number(-1.0), index);
    }
    if (axis || !keepdims) return Call::result(index);
    return Call::result(b.reshape(index, Shape(std::vector<Dim>(static_cast<std::size_t>(rank), 1))));
  }

 private:
  std::optional<std::int64_t> axis;
  bool keepdims = false;
};

template <bool kProduct, bool kSkipNan = false>
class Running : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("dtype", dtype);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = call.tensor("x")->id;
    if (kSkipNan && is_floating(b.dtype(x)))
      x = b.apply(graph::Select{}, {b.unary(graph::UnaryFn::isnan, x), b.scalar_like(x, kProduct ? 1.0 : 0.0), x});
    x = b.cast(x, as_number(dtype.value_or(b.dtype(x))));
    if (!axis) x = b.reshape(x, {kUnknown});
    return Call::result(b.apply(graph::Cumulate{kProduct, axis ? axis_in(*axis, b.shape(x)) : 0}, {x}));
  }

 private:
  std::optional<std::int64_t> axis;
  std::optional<DType> dtype;
};

inline constexpr std::array<std::string_view, 2> kAverageArguments = {"x", "weights"};

/// A mean, optionally with weights: one for each element, or one for each position of the axis.
class Average : public WithArguments<kAverageArguments> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand x(call, "x");
    const ReducedAxes over{axes_in(axis, x.shape()), false};
    if (!call.has("weights")) return Call::result(mean({b, x.as(as_floating(x.own_dtype()))}, over));
    const Operand given(call, "weights");
    const DType dtype = result_type({x.type(), given.type(), kPythonFloat});
    Expression w{b, given.as(dtype)};
    if (given.rank() != x.rank()) {
      if (given.rank() != 1 || over.axes.size() != 1)
        throw bad_input("weights {} do not fit x {}", given.shape().str(), x.shape().str());
      Shape along(std::vector<Dim>(static_cast<std::size_t>(x.rank()), 1));
      along[over.axes.front()] = w.shape()[0];
      w = {b, b.reshape(w, along)};
    }
    return Call::result(sum(Expression{b, x.as(dtype)} * w, over) / sum(w, over));
  }

 private:
  std::optional<Axes> axis;
};

/// A vector norm over one axis, or the Frobenius norm over one or two axes.
class Norm : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("ord", ord);
    f("axis", axis);
    f("keepdims", keepdims);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId value = call.tensor("x")->id;
    const Expression x{b, b.cast(value, as_floating(b.dtype(value)))};
    const ReducedAxes over{axes_in(axis, x.shape()), keepdims};
    const std::size_t count = over.axes.size();
    const bool euclidean = ord.json.is_null() || (count == 1 && ord.json == 2) || (count == 2 && ord.json == "fro");
    if (euclidean && (count == 1 || count == 2)) return Call::result(sqrt(sum(square(x), over)));
    if (count != 1 || !ord.json.is_number())
      throw bad_input("the norm of order {} over {} axes is not supported", printable(to_json_text(ord.json)), count);
    const auto order = ord.json.get<double>();
    if (std::isnan(order)) throw bad_input("the norm of order NaN is not supported");
    if (std::isinf(order)) return Call::result(abs(x).reduced(over.by(order > 0 ? ReduceFn::max : ReduceFn::min)));
    if (order == 0.0) return Call::result(sum(x.cast(DType::boolean).cast(x.dtype()), over));
    const Expression total = sum(pow(abs(x), x.number(order)), over);
    return Call::result(pow(total, x.number(1.0 / order)));
  }

 private:
  Opaque ord;
  std::optional<Axes> axis;
  bool keepdims = false;
};

constexpr std::array kReductionOperations = {
    ClassInfo{"Sum", make_layer<Reduction<ReduceFn::sum, as_accumulator>>, 300, kNumpyOps},
    ClassInfo{"Mean", make_layer<Reduction<ReduceFn::mean, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Max", make_layer<Extremum<ReduceFn::max, graph::BinaryFn::maximum>>, 300, kNumpyOps},
    ClassInfo{"Min", make_layer<Extremum<ReduceFn::min, graph::BinaryFn::minimum>>, 300, kNumpyOps},
    ClassInfo{"Amax", make_layer<Reduction<ReduceFn::max>>, 300, kNumpyOps},
    ClassInfo{"Amin", make_layer<Reduction<ReduceFn::min>>, 300, kNumpyOps},
    ClassInfo{"Ptp", make_layer<Reduction<range>>, 314, kNumpyOps},
    ClassInfo{"Prod", make_layer<Prod>, 300, kNumpyOps},
    ClassInfo{"Var", make_layer<Reduction<variance, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Std", make_layer<Reduction<deviation, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Any", make_layer<Reduction<ReduceFn::any, as_boolean>>, 300, kNumpyOps},
    ClassInfo{"All", make_layer<Reduction<ReduceFn::all, as_boolean>>, 300, kNumpyOps},
    ClassInfo{"Nansum", make_layer<Reduction<numbers_sum, as_accumulator>>, 314, kNumpyOps},
    ClassInfo{"Nanmean", make_layer<Reduction<numbers_mean, as_floating>>, 314, kNumpyOps},
    ClassInfo{"Nanmax", make_layer<Reduction<numbers_extremum<ReduceFn::max>>>, 314, kNumpyOps},
    ClassInfo{"Nanmin", make_layer<Reduction<numbers_extremum<ReduceFn::min>>>, 314, kNumpyOps},
    ClassInfo{"Nanprod", make_layer<Reduction<numbers_product, as_accumulator>>, 314, kNumpyOps},
    ClassInfo{"Nanvar", make_layer<Reduction<numbers_variance, as_floating>>, 314, kNumpyOps},
    ClassInfo{"Nanstd", make_layer<Reduction<numbers_deviation, as_floating>>, 314, kNumpyOps},
    ClassInfo{"Logsumexp", make_layer<Reduction<ReduceFn::logsumexp>>, 300, kMathOps},
    ClassInfo{"CountNonzero", make_layer<CountNonzero>, 300, kNumpyOps},
    ClassInfo{"Argmax", make_layer<IndexOf<ReduceFn::argmax>>, 300, kNumpyOps},
    ClassInfo{"Argmin", make_layer<IndexOf<ReduceFn::argmin>>, 300, kNumpyOps},
    ClassInfo{"Nanargmax", make_layer<NumbersIndexOf<ReduceFn::argmax>>, 314, kNumpyOps},
    ClassInfo{"Nanargmin", make_layer<NumbersIndexOf<ReduceFn::argmin>>, 314, kNumpyOps},
    ClassInfo{"Cumsum", make_layer<Running<false>>, 300, kNumpyOps},
    ClassInfo{"Cumprod", make_layer<Running<true>>, 300, kNumpyOps},
    ClassInfo{"Nancumsum", make_layer<Running<false, true>>, 314, kNumpyOps},
    ClassInfo{"Nancumprod", make_layer<Running<true, true>>, 314, kNumpyOps},
    ClassInfo{"Average", make_layer<Average>, 300, kNumpyOps},
    ClassInfo{"Norm", make_layer<Norm>, 300, kLinalgOps},
};

}  // namespace

Family reduction_operations() { return kReductionOperations; }

}  // namespace attn::keras
