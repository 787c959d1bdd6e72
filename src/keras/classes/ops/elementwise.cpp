// Arithmetic, comparisons and logic, element by element (keras/src/backend/tensorflow/numpy.py, math.py).
#include <cmath>
#include <numbers>

#include "classes/any_number.h"
#include "classes/ops/array/number_range.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::Builder;
using graph::UnaryFn;
using graph::ValueId;

// ---- One tensor

using Formula = Expression (*)(const Expression&);
ValueId applied(UnaryFn fn, Builder& b, ValueId x) { return b.unary(fn, x); }
ValueId applied(Formula formula, Builder& b, ValueId x) { return formula({b, x}); }

/// Computes f(x), in the dtype that `kRule` returns.
template <auto kFunction, DTypeRule kRule = same>
class UnaryOperation : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return Call::result(applied(kFunction, b, b.cast(x, kRule(b.dtype(x)))));
  }
};

Expression unchanged(const Expression& x) { return x; }

Expression absolute(const Expression& x) {
  const DType dtype = x.dtype();
  const bool has_sign = is_floating(dtype) || dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 ||
                        dtype == DType::int64;
  return has_sign ? abs(x) : x;
}

Expression truncated(const Expression& x) { return is_floating(x.dtype()) ? x.unary(UnaryFn::trunc) : x; }
Expression exp2(const Expression& x) { return pow(x.number(2.0), x); }
Expression cbrt(const Expression& x) { return x.unary(UnaryFn::sign) * pow(abs(x), x.number(1.0 / 3.0)); }
Expression deg2rad(const Expression& x) { return x * (std::numbers::pi / 180.0); }
Expression rad2deg(const Expression& x) { return x * (180.0 / std::numbers::pi); }
Expression erfc(const Expression& x) { return 1.0 - x.unary(UnaryFn::erf); }
Expression isneginf(const Expression& x) { return is_floating(x.dtype()) ? x == -kInfinity : x < x; }
Expression isposinf(const Expression& x) { return is_floating(x.dtype()) ? x == kInfinity : x < x; }

Expression signbit(const Expression& x) {
  // −0.0 also counts as negative, which its reciprocal shows.
  const Expression negative = x < 0.0;
  return is_floating(x.dtype()) ? negative | ((x == 0.0) & (x.unary(UnaryFn::reciprocal) < 0.0)) : negative;
}
Expression angle(const Expression& x) { return x.number(0.0).binary(BinaryFn::atan2, x); }
Expression imaginary(const Expression& x) { return where(x == x, x.number(0.0), x.number(0.0)); }
Expression is_real(const Expression& x) { return (x == x) | isnan(x); }

Expression sinc(const Expression& x) {
  const Expression angle = x * std::numbers::pi;
  return where(x == 0.0, x.number(1.0), angle.unary(UnaryFn::sin) / angle);
}

class NanToNum : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("nan", nan, 303);
    f("posinf", posinf, 303);
    f("neginf", neginf, 303);
  }
  Arg call(Call& call) override {
    const Expression x{call.builder(), call.tensor("x")->id};
    if (!is_floating(x.dtype())) return Call::result(x);
    const double limit = number_range(x.dtype()).second;
    const Expression finite =
        where(isposinf(x), x.number(posinf.value_or(limit)), where(isneginf(x), x.number(neginf.value_or(-limit)), x));
    return Call::result(where(isnan(x), x.number(nan), finite));
  }

 private:
  AnyNumber nan{0.0};
  std::optional<AnyNumber> posinf, neginf;
};

class Clip : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("x_min", x_min);
    f.required("x_max", x_max);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return Call::result(b.unary(UnaryFn::clip, b.cast(x, as_number(b.dtype(x))), x_min, x_max));
  }

 private:
  AnyNumber x_min, x_max;
};

/// Rounds to a number of decimals, halves to even.
class Round : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("decimals", decimals); }
  Arg call(Call& call) override {
    const Expression x{call.builder(), call.tensor("x")->id};
    if (decimals == 0) return Call::result(x.unary(UnaryFn::round));
    const bool integral = !is_floating(x.dtype());
    if (integral && decimals > 0) return Call::result(x);
    const double factor = std::pow(10.0, static_cast<double>(decimals));
    const Expression scaled = x.cast(integral ? DType::float32 : x.dtype()) * factor;
    return Call::result((scaled.unary(UnaryFn::round) / factor).cast(x.dtype()));
  }

 private:
  std::int64_t decimals = 0;
};

// ---- Two tensors

/// Returns the dtype in which two operands are computed.
using PromotionRule = DType (*)(const Operand&, const Operand&);
DType common(const Operand& x, const Operand& y) { return result_type({x.type(), y.type()}); }
DType common_number(const Operand& x, const Operand& y) { return as_number(common(x, y)); }
DType common_floating(const Operand& x, const Operand& y) { return as_floating(common(x, y)); }
DType common_wide_floating(const Operand& x, const Operand& y) { return as_wide_floating(common(x, y)); }
/// Returns the dtype for comparisons and arctan2. They first convert a Python number to a tensor, so 0.1 becomes
/// float32 even beside float16.
DType compared(const Operand& x, const Operand& y) { return result_type({x.own_dtype(), y.own_dtype()}); }
DType compared_floating(const Operand& x, const Operand& y) { return as_floating(compared(x, y)); }
DType both_boolean(const Operand&, const Operand&) { return DType::boolean; }

using PairFormula = Expression (*)(const Expression&, const Expression&);
ValueId applied(BinaryFn fn, Builder& b, ValueId x, ValueId y) { return b.binary(fn, x, y); }
ValueId applied(PairFormula formula, Builder& b, ValueId x, ValueId y) { return formula({b, x}, {b, y}); }

/// Computes f(x1, x2) with NumPy broadcasting, in the dtype that `kRule` returns.
template <auto kFunction, PromotionRule kRule = common>
class BinaryOperation : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = kRule(x1, x2);
    return Call::result(applied(kFunction, call.builder(), x1.as(dtype), x2.as(dtype)));
  }
};

Expression divide_no_nan(const Expression& x, const Expression& y) { return where(y == 0.0, y.number(0.0), x / y); }
Expression hypot(const Expression& x, const Expression& y) { return sqrt(square(x) + square(y)); }

Expression heaviside(const Expression& x, const Expression& at_zero) {
  return where(x < 0.0, x.number(0.0), where(x > 0.0, x.number(1.0), at_zero));
}

/// Returns C's remainder, with the sign of the dividend.
Expression fmod(const Expression& x, const Expression& y) {
  return x.unary(UnaryFn::sign) * abs(x).binary(BinaryFn::mod, abs(y));
}

/// Returns `pick` of both operands, or the operand that is not NaN.
Expression ignoring_nan(PairFormula pick, const Expression& x, const Expression& y) {
  const Expression picked = pick(x, y);
  return is_floating(x.dtype()) ? where(isnan(x), y, where(isnan(y), x, picked)) : picked;
}
Expression fmax(const Expression& x, const Expression& y) { return ignoring_nan(max, x, y); }
Expression fmin(const Expression& x, const Expression& y) { return ignoring_nan(min, x, y); }

/// Returns log(baseˣ + baseʸ) / log(base). If the difference is NaN (∞ − ∞), the result is the sum.
Expression log_of_sum(const Expression& x, const Expression& y, double log_of_base) {
  const Expression difference = x - y;
  const Expression sum = max(x, y) + log1p(exp(abs(difference) * -log_of_base)) / log_of_base;
  return where(isnan(difference), x + y, sum);
}
Expression logaddexp(const Expression& x, const Expression& y) { return log_of_sum(x, y, 1.0); }
Expression logaddexp2(const Expression& x, const Expression& y) { return log_of_sum(x, y, std::numbers::ln2); }

/// Returns |x1 − x2| ≤ atol + rtol·|x2|.
Expression is_close(const Operand& x1, const Operand& x2, Builder& b, double rtol, double atol, bool equal_nan) {
  const DType dtype = compared(x1, x2);
  const Expression x{b, x1.as(dtype)}, y{b, x2.as(dtype)};
  if (!is_floating(dtype)) return x == y;
  const Expression close = abs(x - y) <= abs(y) * rtol + atol;
  return equal_nan ? close | (isnan(x) & isnan(y)) : close;
}

inline constexpr std::array<std::string_view, 4> kIscloseArguments = {"x1", "x2", "rtol", "atol"};

class Isclose : public WithArguments<kIscloseArguments> {
 public:
  void fields(Fields& f) override { f("equal_nan", equal_nan, 311); }
  Arg call(Call& call) override {
    return Call::result(is_close({call, "x1"}, {call, "x2"}, call.builder(), number_argument(call, "rtol", 1e-5),
                                 number_argument(call, "atol", 1e-8), equal_nan));
  }

 private:
  bool equal_nan = false;
};

class AllClose : public WithArguments<kX1X2> {
 public:
  void fields(Fields& f) override {
    f("rtol", rtol);
    f("atol", atol);
    f("equal_nan", equal_nan);
  }
  Arg call(Call& call) override {
    const Expression close = is_close({call, "x1"}, {call, "x2"}, call.builder(), rtol, atol, equal_nan);
    return Call::result(close.reduced({graph::ReduceFn::all, axes_in({}, close.shape()), false}));
  }

 private:
  Number rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};

/// Returns whether x1 is an element of x2.
class IsIn : public WithArguments<kX1X2> {
 public:
  void fields(Fields& f) override {
    f("assume_unique", assume_unique);
    f("invert", invert);
  }
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.type(), x2.type()});
    Builder& b = call.builder();
    const Expression x{b, b.expand_dims(x1.as(dtype), -1)}, any{b, b.reshape(x2.as(dtype), {kUnknown})};
    const Expression found = (x == any).reduced({graph::ReduceFn::any, {x.shape().rank() - 1}, false});
    return Call::result(invert ? found.unary(UnaryFn::logical_not) : found);
  }

 private:
  bool assume_unique = false, invert = false;
};

// ---- Selection

inline constexpr std::array<std::string_view, 3> kWhereArguments = {"condition", "x1", "x2"};

class Where : public WithArguments<kWhereArguments> {
 public:
  Arg call(Call& call) override {
    if (!call.has("x1") || !call.has("x2"))
      throw bad_input("where(condition) has a result whose size depends on the values; pass x1 and x2");
    Builder& b = call.builder();
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = common(x1, x2);
    const ValueId condition = Operand(call, "condition").as(DType::boolean);
    return Call::result(b.apply(graph::Select{}, {condition, x1.as(dtype), x2.as(dtype)}));
  }
};

inline constexpr std::array<std::string_view, 3> kSelectArguments = {"condlist", "choicelist", "default"};

/// Returns the choice of the first condition that is true.
class Select : public WithArguments<kSelectArguments> {
 public:
  Arg call(Call& call) override {
    const std::vector<Operand> conditions = operands(call, "condlist"), choices = operands(call, "choicelist");
    if (conditions.size() != choices.size())
      throw bad_input("{} conditions do not fit {} choices", conditions.size(), choices.size());
    const Operand missing(call, call.has("default") ? call.arg("default") : Arg(std::int64_t{0}), "default");
    std::vector<Promoted> types = types_of(choices);
    types.push_back(missing.type());
    const DType dtype = numpy_result_type(types);
    Builder& b = call.builder();
    ValueId out = missing.as(dtype);
    for (std::size_t i = choices.size(); i-- > 0;)
      out = b.apply(graph::Select{}, {conditions[i].as(DType::boolean), choices[i].as(dtype), out});
    return Call::result(out);
  }
  /// Keras reports the shape of the first choice, even if it is broadcast.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return {{operands(call, "choicelist").front().shape()}};
  }
};

constexpr std::array kElementwiseOperations = {
    // functions of one tensor
    ClassInfo{"Absolute", make_layer<UnaryOperation<absolute>>, 300, kNumpyOps},
    ClassInfo{"Abs", make_layer<UnaryOperation<absolute>>, 300, kNumpyOps},
    ClassInfo{"Fabs", make_layer<UnaryOperation<UnaryFn::absolute, as_floating>>, 315, kNumpyOps},
    ClassInfo{"Negative", make_layer<UnaryOperation<UnaryFn::negative>>, 300, kNumpyOps},
    ClassInfo{"Sign", make_layer<UnaryOperation<UnaryFn::sign>>, 300, kNumpyOps},
    ClassInfo{"Reciprocal", make_layer<UnaryOperation<UnaryFn::reciprocal>>, 300, kNumpyOps},
    ClassInfo{"Square", make_layer<UnaryOperation<UnaryFn::square, as_number>>, 300, kNumpyOps},
    ClassInfo{"Sqrt", make_layer<UnaryOperation<UnaryFn::sqrt, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Rsqrt", make_layer<UnaryOperation<UnaryFn::rsqrt>>, 300, kMathOps},
    ClassInfo{"Cbrt", make_layer<UnaryOperation<cbrt, as_wide_floating>>, 311, kNumpyOps},
    ClassInfo{"Exp", make_layer<UnaryOperation<UnaryFn::exponential, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Exp2", make_layer<UnaryOperation<exp2, as_floating>>, 307, kNumpyOps},
    ClassInfo{"Expm1", make_layer<UnaryOperation<UnaryFn::expm1, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Log", make_layer<UnaryOperation<UnaryFn::log, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Log10", make_layer<UnaryOperation<UnaryFn::log10, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Log1p", make_layer<UnaryOperation<UnaryFn::log1p, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Log2", make_layer<UnaryOperation<UnaryFn::log2, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Sin", make_layer<UnaryOperation<UnaryFn::sin, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Cos", make_layer<UnaryOperation<UnaryFn::cos, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Tan", make_layer<UnaryOperation<UnaryFn::tan, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Arcsin", make_layer<UnaryOperation<UnaryFn::asin, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Arccos", make_layer<UnaryOperation<UnaryFn::acos, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Arctan", make_layer<UnaryOperation<UnaryFn::atan, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Sinh", make_layer<UnaryOperation<UnaryFn::sinh, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Cosh", make_layer<UnaryOperation<UnaryFn::cosh, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Tanh", make_layer<UnaryOperation<UnaryFn::tanh, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Arcsinh", make_layer<UnaryOperation<UnaryFn::asinh, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Arccosh", make_layer<UnaryOperation<UnaryFn::acosh, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Arctanh", make_layer<UnaryOperation<UnaryFn::atanh, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Sinc", make_layer<UnaryOperation<sinc, as_floating>>, 314, kNumpyOps},
    ClassInfo{"Deg2rad", make_layer<UnaryOperation<deg2rad, as_wide_floating>>, 311, kNumpyOps},
    ClassInfo{"Rad2deg", make_layer<UnaryOperation<rad2deg, as_wide_floating>>, 314, kNumpyOps},
    ClassInfo{"Erf", make_layer<UnaryOperation<UnaryFn::erf>>, 300, kMathOps},
    ClassInfo{"Erfc", make_layer<UnaryOperation<erfc>>, 315, kMathOps},
    ClassInfo{"Floor", make_layer<UnaryOperation<UnaryFn::floor, as_floating>>, 300, kNumpyOps},
    ClassInfo{"Ceil", make_layer<UnaryOperation<UnaryFn::ceil, as_floating>>, 300, kNumpyOps},
    ClassInfo{.name = "Trunc",
              .make = make_layer<UnaryOperation<truncated>>,
              .since = 306,
              .module = kNumpyOps,
              .named_until = 0},
    ClassInfo{"Round", make_layer<Round>, 300, kNumpyOps},
    ClassInfo{"Clip", make_layer<Clip>, 300, kNumpyOps},
    ClassInfo{"NanToNum", make_layer<NanToNum>, 300, kNumpyOps},
    ClassInfo{"Conjugate", make_layer<UnaryOperation<unchanged>>, 300, kNumpyOps},
    ClassInfo{"Conj", make_layer<UnaryOperation<unchanged>>, 300, kNumpyOps},
    ClassInfo{"Real", make_layer<UnaryOperation<unchanged>>, 300, kNumpyOps},
    ClassInfo{"Angle", make_layer<UnaryOperation<angle, as_floating>>, 310, kNumpyOps},
    ClassInfo{"Imag", make_layer<UnaryOperation<imaginary>>, 300, kNumpyOps},
    ClassInfo{"Isreal", make_layer<UnaryOperation<is_real>>, 312, kNumpyOps},
    ClassInfo{"Signbit", make_layer<UnaryOperation<signbit>>, 309, kNumpyOps},
    ClassInfo{"LogicalNot", make_layer<UnaryOperation<UnaryFn::logical_not, as_boolean>>, 300, kNumpyOps},
    ClassInfo{"Isnan", make_layer<UnaryOperation<UnaryFn::isnan>>, 300, kNumpyOps},
    ClassInfo{"Isinf", make_layer<UnaryOperation<UnaryFn::isinf>>, 300, kNumpyOps},
    ClassInfo{"Isfinite", make_layer<UnaryOperation<UnaryFn::isfinite>>, 300, kNumpyOps},
    ClassInfo{"Isneginf", make_layer<UnaryOperation<isneginf>>, 312, kNumpyOps},
    ClassInfo{"Isposinf", make_layer<UnaryOperation<isposinf>>, 312, kNumpyOps},
    // functions of two tensors
    ClassInfo{"Add", make_layer<BinaryOperation<BinaryFn::add>>, 300, kNumpyOps},
    ClassInfo{"Subtract", make_layer<BinaryOperation<BinaryFn::subtract>>, 300, kNumpyOps},
    ClassInfo{"Multiply", make_layer<BinaryOperation<BinaryFn::multiply>>, 300, kNumpyOps},
    ClassInfo{"Divide", make_layer<BinaryOperation<BinaryFn::divide, common_floating>>, 300, kNumpyOps},
    ClassInfo{"TrueDivide", make_layer<BinaryOperation<BinaryFn::divide, common_floating>>, 300, kNumpyOps},
    ClassInfo{"DivideNoNan", make_layer<BinaryOperation<divide_no_nan, common_floating>>, 300, kNumpyOps},
    ClassInfo{"FloorDivide", make_layer<BinaryOperation<BinaryFn::floor_divide>>, 300, kNumpyOps},
    ClassInfo{"Mod", make_layer<BinaryOperation<BinaryFn::mod, common_number>>, 300, kNumpyOps},
    ClassInfo{"Fmod", make_layer<BinaryOperation<fmod, common_number>>, 314, kNumpyOps},
    ClassInfo{"Power", make_layer<BinaryOperation<BinaryFn::power>>, 300, kNumpyOps},
    ClassInfo{"Maximum", make_layer<BinaryOperation<BinaryFn::maximum>>, 300, kNumpyOps},
    ClassInfo{"Minimum", make_layer<BinaryOperation<BinaryFn::minimum>>, 300, kNumpyOps},
    ClassInfo{"Fmax", make_layer<BinaryOperation<fmax>>, 315, kNumpyOps},
    ClassInfo{"Fmin", make_layer<BinaryOperation<fmin>>, 315, kNumpyOps},
    ClassInfo{"Arctan2", make_layer<BinaryOperation<BinaryFn::atan2, compared_floating>>, 300, kNumpyOps},
    ClassInfo{"Hypot", make_layer<BinaryOperation<hypot, common_wide_floating>>, 312, kNumpyOps},
    ClassInfo{"Heaviside", make_layer<BinaryOperation<heaviside, common_wide_floating>>, 311, kNumpyOps},
    ClassInfo{"Logaddexp", make_layer<BinaryOperation<logaddexp, common_floating>>, 300, kNumpyOps},
    ClassInfo{"Logaddexp2", make_layer<BinaryOperation<logaddexp2, common_floating>>, 312, kNumpyOps},
    ClassInfo{"Equal", make_layer<BinaryOperation<BinaryFn::equal, compared>>, 300, kNumpyOps},
    ClassInfo{"NotEqual", make_layer<BinaryOperation<BinaryFn::not_equal, compared>>, 300, kNumpyOps},
    ClassInfo{"Less", make_layer<BinaryOperation<BinaryFn::less, compared>>, 300, kNumpyOps},
    ClassInfo{"LessEqual", make_layer<BinaryOperation<BinaryFn::less_equal, compared>>, 300, kNumpyOps},
    ClassInfo{"Greater", make_layer<BinaryOperation<BinaryFn::greater, compared>>, 300, kNumpyOps},
    ClassInfo{"GreaterEqual", make_layer<BinaryOperation<BinaryFn::greater_equal, compared>>, 300, kNumpyOps},
    ClassInfo{"LogicalAnd", make_layer<BinaryOperation<BinaryFn::logical_and, both_boolean>>, 300, kNumpyOps},
    ClassInfo{"LogicalOr", make_layer<BinaryOperation<BinaryFn::logical_or, both_boolean>>, 300, kNumpyOps},
    ClassInfo{"LogicalXor", make_layer<BinaryOperation<BinaryFn::logical_xor, both_boolean>>, 300, kNumpyOps},
    ClassInfo{.name = "Isclose",
              .make = make_layer<Isclose>,
              .since = 300,
              .module = kNumpyOps,
              .later_arguments = "rtol 3.4; atol 3.4"},
    ClassInfo{"AllClose", make_layer<AllClose>, 314, kNumpyOps},
    ClassInfo{"IsIn", make_layer<IsIn>, 312, kNumpyOps},
    // choices
    ClassInfo{"Where", make_layer<Where>, 300, kNumpyOps},
    ClassInfo{.name = "Select", .make = make_layer<Select>, .since = 303, .module = kNumpyOps, .named_until = 0},
};

}  // namespace

Family elementwise_operations() { return kElementwiseOperations; }

}  // namespace attn::keras
