// Functions of numbers by sequences of simpler operations: common divisors, powers of two, the inverse of erf.
#include <array>
#include <cmath>
#include <numbers>

#include "classes/ops/array/number_range.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::Builder;
using graph::ReduceFn;
using graph::UnaryFn;

Expression magnitude(const Expression& x) { return is_signed(x.dtype()) ? abs(x) : x; }

/// Returns two integers in their common dtype, without their signs.
std::pair<Expression, Expression> integers(Call& call) {
  const Operand x1(call, "x1"), x2(call, "x2");
  const DType dtype = result_type({x1.own_dtype(), x2.own_dtype()});
  if (!is_integer(dtype)) throw bad_input("the greatest common divisor needs integers, got {}", name_of(dtype));
  Builder& b = call.builder();
  return {magnitude({b, x1.as(dtype)}), magnitude({b, x2.as(dtype)})};
}

/// Computes the greatest common divisor by Euclid's algorithm. The number of steps suffices for the worst case of the
/// dtype, neighbors in the Fibonacci sequence.
Expression common_divisor(Expression a, Expression b) {
  const auto bits = static_cast<double>(8 * bytes_of(a.dtype()));
  const int steps = static_cast<int>(bits / std::log2(std::numbers::phi)) + 2;
  // Broadcasts a, so that all steps have the same shape.
  a = a + b.number(0.0) * b;
  b = b + a.number(0.0) * a;
  for (int i = 0; i < steps; ++i) {
    const Expression done = b == 0.0;
    const Expression rest = a.binary(BinaryFn::mod, where(done, b.number(1.0), b));
    a = where(done, a, b);
    b = where(done, b, rest);
  }
  return a;
}

class Gcd : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const auto [a, b] = integers(call);
    return Call::result(common_divisor(a, b));
  }
};

class Lcm : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const auto [a, b] = integers(call);
    const Expression divisor = common_divisor(a, b);
    const Expression none = divisor == 0.0;
    const Expression part = b.binary(BinaryFn::floor_divide, where(none, divisor.number(1.0), divisor));
    return Call::result(where(none, divisor, a * part));
  }
};

/// Computes x1·2^x2.
class Ldexp : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    if (!is_integer(x2.own_dtype()))
      throw bad_input("the exponent must be an integer, got {}", name_of(x2.own_dtype()));
    const DType dtype = result_type({x1.own_dtype(), x2.own_dtype(), kPythonFloat});
    Builder& b = call.builder();
    const Expression x{b, x1.as(dtype)}, power = pow(x.number(2.0), {b, x2.as(dtype)});
    return Call::result(where((abs(x) == kInfinity) | (x == 0.0), x, x * power));
  }
};

/// The inverse of erf: M. Giles, Approximating the erfinv function (2010), then two steps of Newton's method in double
/// precision.
class Erfinv : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    const Operand given(call, "x");
    if (!is_floating(given.own_dtype()))
      throw bad_input("erfinv needs floating numbers, got {}", name_of(given.own_dtype()));
    const Expression x{call.builder(), given.as(DType::float64)};
    const Expression w = -((1.0 - x) * (x + 1.0)).unary(UnaryFn::log);
    const Expression near = polynomial(kNear, w + -2.5), far = polynomial(kFar, sqrt(max(w, w.number(5.0))) + -3.0);
    Expression y = where(w < 5.0, near, far) * x;
    for (int i = 0; i < 2; ++i)
      y = y - (y.unary(UnaryFn::erf) - x) / (exp(-square(y)) * (2.0 * std::numbers::inv_sqrtpi));
    y = where(abs(x) == 1.0, x * kInfinity, where(abs(x) < 1.0, y, x.number(std::nan(""))));
    return Call::result(y.cast(given.own_dtype()));
  }

 private:
  static constexpr std::array kNear = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                       -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static constexpr std::array kFar = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                      -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  static Expression polynomial(const std::array<double, 9>& coefficients, const Expression& x) {
    Expression sum = x.number(coefficients.front());
    for (std::size_t i = 1; i < coefficients.size(); ++i) sum = sum * x + coefficients[i];
    return sum;
  }
};

constexpr std::array kNumberTheoryOperations = {
    ClassInfo{"Gcd", make_layer<Gcd>, 312, kNumpyOps},
    ClassInfo{"Lcm", make_layer<Lcm>, 312, kNumpyOps},
    ClassInfo{"Ldexp", make_layer<Ldexp>, 313, kNumpyOps},
    ClassInfo{"Erfinv", make_layer<Erfinv>, 300, kMathOps},
};

}  // namespace

Family number_theory_operations() { return kNumberTheoryOperations; }

}  // namespace attn::keras
