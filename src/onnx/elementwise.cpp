// Element-wise functions of one and two arguments.
#include <cmath>
#include <limits>
#include <numbers>

#include "attn/base/error.h"
#include "emit.h"

namespace attn::onnx {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Term clip(const Term& x, double low, double high) { return x.apply("Clip", {x.number(low), x.number(high)}); }

Term gelu(const Term& x, bool by_tanh) {
  if (x.emitter->opset() >= 20) return x.apply("Gelu", {}, {{"approximate", std::string(by_tanh ? "tanh" : "none")}});
  if (!by_tanh) return x * 0.5 * ((x / std::numbers::sqrt2).apply("Erf") + 1.0);
  const Term inner = (x + x * x * x * 0.044715) * std::sqrt(2.0 / std::numbers::pi);
  return x * 0.5 * (inner.apply("Tanh") + 1.0);
}

Term hard_sigmoid(const Term& x, double reach) {
  return x.apply("HardSigmoid", {}, {{"alpha", 0.5 / reach}, {"beta", 0.5}});
}

/// Uses Kahan's quotient near 0, where eˣ − 1 loses all digits.
Term expm1(const Term& x) {
  const Term u = exp(x), near = (u - 1.0) * x / log(u);
  const Term far = where(x < 0.0, x.number(-1.0), u - 1.0);
  const Term is_near = x.apply("Abs") < 0.5;
  return where(equal(u, 1.0), x, where(is_near, near, where(x < -30.0, far, u - 1.0)));
}

Term log1p(const Term& x) {
  const Term u = x + 1.0;
  const Term near = log(u) * x / (u - 1.0);
  return where(equal(u, 1.0), x, where(x.apply("Abs") < 0.5, near, log(u)));
}

Term relu(const graph::Unary& f, const Term& x) {
  const double slope = f.a, threshold = f.b, most = f.c;
  if (threshold == 0.0 && most == kInfinity) {
    return slope == 0.0 ? x.apply("Relu") : x.apply("LeakyRelu", {}, {{"alpha", slope}});
  }
  if (slope == 0.0 && threshold == 0.0) return clip(x, 0.0, most);
  const Term above = most == kInfinity ? x : x.apply("Min", {x.number(most)});
  return where(x > threshold, above, slope == 0.0 ? x.number(0.0) : (x - threshold) * slope);
}

/// Rounds to the nearest float8 number and converts back.
Term through_float8(const Term& x) {
  constexpr std::int64_t kFloat8E4M3FN = 17;  // TensorProto.DataType; attn has no such dtype
  constexpr int kOldest = 19;
  if (x.emitter->opset() < kOldest) throw bad_input("float8_e4m3fn requires opset 19");
  return x.apply("Cast", {}, {{"to", kFloat8E4M3FN}}).apply("Cast", {}, {{"to", type_code(x.dtype)}});
}

/// Tests for ±∞; works for integers too.
Term is_infinite(const Term& x) { return widened(x).test("IsInf"); }

}  // namespace

Term widened(const Term& x) {
  return x.dtype == DType::float16 || x.dtype == DType::bfloat16 ? x.cast(DType::float32) : x;
}

Term apply(const graph::Unary& f, const Term& x) {
  const double a = f.a, b = f.b;
  const auto zero = [&] { return x.number(0.0); };
  const std::string_view one = graph::record_of(f.fn).onnx;
  if (!one.empty()) return x.apply(std::string(one));
  switch (f.fn) {
    case UnaryFn::linear:
      return x;
    case UnaryFn::relu:
      return is_integer(x.dtype) ? x.apply("Max", {zero()}) : relu(f, x);
    case UnaryFn::elu:
      return x.apply("Elu", {}, {{"alpha", a}});
    case UnaryFn::celu:
      return x.apply("Max", {zero()}) + (x.apply("Min", {zero()}) / a).apply("Elu", {}, {{"alpha", 1.0}}) * a;
    case UnaryFn::float8_e4m3fn:
      return through_float8(x);
    case UnaryFn::gelu:
    case UnaryFn::gelu_tanh:
      return gelu(x, f.fn == UnaryFn::gelu_tanh);
    case UnaryFn::silu:
      return x * x.apply("Sigmoid");
    case UnaryFn::hard_sigmoid:
      return hard_sigmoid(x, a == 0.0 ? 3.0 : a);
    case UnaryFn::hard_silu:
      return x * hard_sigmoid(x, 3.0);
    case UnaryFn::hard_tanh:
      return clip(x, -1.0, 1.0);
    case UnaryFn::log_sigmoid:
      return -(-x).apply("Softplus");
    case UnaryFn::mish:
      return x * x.apply("Softplus").apply("Tanh");
    case UnaryFn::hard_shrink:
      return where(x.apply("Abs") > a, x, zero());
    case UnaryFn::soft_shrink:
      return where(x > a, x - a, where(x < -a, x + a, zero()));
    case UnaryFn::tanh_shrink:
      return x - x.apply("Tanh");
    case UnaryFn::threshold:
      return where(x > a, x, x.number(b));
    case UnaryFn::squareplus:
      return (x + sqrt(x * x + a)) * 0.5;
    case UnaryFn::sparse_plus:
      return where(x > -1.0, where(x < 1.0, (x + 1.0) * (x + 1.0) * 0.25, x), zero());
    case UnaryFn::sparse_sigmoid:
      return clip((x + 1.0) * 0.5, 0.0, 1.0);
    case UnaryFn::expm1:
      return expm1(x);
    case UnaryFn::log1p:
      return log1p(x);
    case UnaryFn::log2:
      return log(x) / std::numbers::ln2;
    case UnaryFn::log10:
      return log(x) / std::numbers::ln10;
    case UnaryFn::rsqrt:
      return sqrt(x).apply("Reciprocal");
    case UnaryFn::square:
      return x * x;
    case UnaryFn::trunc:
      return where(x < 0.0, x.apply("Ceil"), x.apply("Floor"));
    case UnaryFn::clip:
      return clip(x, a, b);
    case UnaryFn::logical_not:
      return !x.cast(DType::boolean);
    case UnaryFn::isnan:
      return widened(x).test("IsNaN");
    case UnaryFn::isinf:
      return is_infinite(x);
    case UnaryFn::isfinite:
      return !(widened(x).test("IsNaN") || is_infinite(x));
    default:
      throw internal_error("{} has no form in ONNX", name_of(f.fn));
  }
}

namespace {

/// Returns the remainder with the sign of the divisor, as in Python.
Term floor_mod(const Term& x, const Term& y) {
  if (is_integer(x.dtype)) return x.apply("Mod", {y});
  const Term rest = x.apply("Mod", {y}, {{"fmod", std::int64_t{1}}});
  const Term other_sign = (rest < 0.0).apply("Xor", {y < 0.0});
  return where(!equal(rest, 0.0) && other_sign, rest + y, rest);
}

Term floor_divide(const Term& x, const Term& y) {
  if (is_integer(x.dtype)) return (x - floor_mod(x, y)) / y;
  return (x / y).apply("Floor");
}

Term atan2(const Term& y, const Term& x) {
  const Term base = (y / x).apply("Atan");
  const Term turned = base + where(y < 0.0, y.number(-std::numbers::pi), y.number(std::numbers::pi));
  return where(equal(x, 0.0), y.apply("Sign") * (std::numbers::pi / 2), where(x < 0.0, turned, base));
}

Term combine(BinaryFn fn, const Term& x, const Term& y) {
  switch (fn) {
    case BinaryFn::add:
      return x + y;
    case BinaryFn::subtract:
      return x - y;
    case BinaryFn::multiply:
      return x * y;
    case BinaryFn::divide:
      return x / y;
    case BinaryFn::floor_divide:
      return floor_divide(x, y);
    case BinaryFn::mod:
      return floor_mod(x, y);
    case BinaryFn::power:
      return x.apply("Pow", {y});
    case BinaryFn::maximum:
      return x.apply("Max", {y});
    case BinaryFn::minimum:
      return x.apply("Min", {y});
    case BinaryFn::atan2:
      return atan2(x, y);
    case BinaryFn::equal:
      return x.test("Equal", {y});
    case BinaryFn::not_equal:
      return !x.test("Equal", {y});
    case BinaryFn::less:
      return x.test("Less", {y});
    case BinaryFn::less_equal:
      return x.test("LessOrEqual", {y});
    case BinaryFn::greater:
      return x.test("Greater", {y});
    case BinaryFn::greater_equal:
      return x.test("GreaterOrEqual", {y});
    case BinaryFn::logical_and:
      return x && y;
    case BinaryFn::logical_or:
      return x || y;
    case BinaryFn::logical_xor:
      return x.apply("Xor", {y});
  }
  return x;
}

/// Returns the dtype for arithmetic: few runtimes have arithmetic on short integers.
DType arithmetic_dtype(DType dtype) {
  switch (dtype) {
    case DType::int8:
    case DType::int16:
    case DType::uint8:
    case DType::uint16:
      return DType::int32;
    case DType::uint32:
      return DType::int64;
    default:
      return dtype;
  }
}

bool is_logical(BinaryFn fn) {
  return fn == BinaryFn::logical_and || fn == BinaryFn::logical_or || fn == BinaryFn::logical_xor;
}

}  // namespace

Names emit(const Step& step, const graph::Unary& op) {
  const Term x = step.term(0);
  const Term result = apply(op, x.cast(arithmetic_dtype(x.dtype)));
  return {result.cast(step.output().dtype).name};
}

Names emit(const Step& step, const graph::Binary& op) {
  Term x = step.term(0), y = step.term(1);
  if (!is_logical(op.fn)) {
    DType dtype = arithmetic_dtype(x.dtype);
    const bool of_bools = x.dtype == DType::boolean && op.fn != BinaryFn::equal && op.fn != BinaryFn::not_equal;
    if (of_bools) dtype = DType::int32;
    x = x.cast(dtype);
    y = y.cast(dtype);
  }
  return {combine(op.fn, x, y).cast(step.output().dtype).name};
}

Names emit(const Step& step, const graph::Select& /*op*/) {
  return {where(step.term(0), step.term(1), step.term(2)).name};
}

Names emit(const Step& step, const graph::Cast& op) { return {step.term(0).cast(op.dtype).name}; }

}  // namespace attn::onnx
