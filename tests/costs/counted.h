// Counts floating-point operations in the reference backend's sources, which are compiled unchanged: the compiler
// includes this file first, and then `double` is a macro for Counted.
//
// All headers of the standard library and of attn that they include must be included here, before the macro.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/base/text.h"
#include "attn/graph/einsum.h"
#include "attn/graph/graph.h"
#include "attn/graph/range.h"
#include "attn/graph/window.h"

namespace attn::test {

/// The floating-point operations since the program began: + − · / and elementary functions, by any Counted.
inline std::int64_t operations_counted = 0;

/// A number that behaves like a double and counts operations.
class Counted {
 public:
  Counted() = default;
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr Counted(T value) : value_(static_cast<double>(value)) {}  // NOLINT: stands for a double
  template <typename T>
  requires std::is_arithmetic_v<T>
  explicit operator T() const { return static_cast<T>(value_); }

  /// The result of one operation.
  static Counted made(double value) {
    ++operations_counted;
    return value;
  }
  [[nodiscard]] double value() const { return value_; }

  Counted& operator+=(Counted y) { return *this = made(value_ + y.value_); }
  Counted& operator-=(Counted y) { return *this = made(value_ - y.value_); }
  Counted& operator*=(Counted y) { return *this = made(value_ * y.value_); }
  Counted& operator/=(Counted y) { return *this = made(value_ / y.value_); }
  Counted operator-() const { return -value_; }

 private:
  double value_ = 0;
};

template <typename T>
concept Operand = std::is_same_v<T, Counted> || std::is_arithmetic_v<T>;
template <typename X, typename Y>
concept Operands = Operand<X> && Operand<Y> &&(std::is_same_v<X, Counted> || std::is_same_v<Y, Counted>);

template <typename X, typename Y>
requires Operands<X, Y> Counted operator+(X x, Y y) { return Counted(x) += Counted(y); }
template <typename X, typename Y>
requires Operands<X, Y> Counted operator-(X x, Y y) { return Counted(x) -= Counted(y); }
template <typename X, typename Y>
requires Operands<X, Y> Counted operator*(X x, Y y) { return Counted(x) *= Counted(y); }
template <typename X, typename Y>
requires Operands<X, Y> Counted operator/(X x, Y y) { return Counted(x) /= Counted(y); }
template <typename X, typename Y>
requires Operands<X, Y>
bool operator==(X x, Y y) { return Counted(x).value() == Counted(y).value(); }
template <typename X, typename Y>
requires Operands<X, Y> std::partial_ordering operator<=>(X x, Y y) {
  return Counted(x).value() <=> Counted(y).value();
}

}  // namespace attn::test

// Functions that the sources call with namespace std.
namespace std {
// NOLINTBEGIN
#define ATTN_ELEMENTARY(f) \
  inline attn::test::Counted f(attn::test::Counted x) { return attn::test::Counted::made(std::f(x.value())); }
ATTN_ELEMENTARY(exp)
ATTN_ELEMENTARY(expm1)
ATTN_ELEMENTARY(log)
ATTN_ELEMENTARY(log1p)
ATTN_ELEMENTARY(log2)
ATTN_ELEMENTARY(log10)
ATTN_ELEMENTARY(sqrt)
ATTN_ELEMENTARY(sin)
ATTN_ELEMENTARY(cos)
ATTN_ELEMENTARY(tan)
ATTN_ELEMENTARY(asin)
ATTN_ELEMENTARY(acos)
ATTN_ELEMENTARY(atan)
ATTN_ELEMENTARY(sinh)
ATTN_ELEMENTARY(cosh)
ATTN_ELEMENTARY(tanh)
ATTN_ELEMENTARY(asinh)
ATTN_ELEMENTARY(acosh)
ATTN_ELEMENTARY(atanh)
ATTN_ELEMENTARY(erf)
ATTN_ELEMENTARY(erfc)
#undef ATTN_ELEMENTARY
#define ATTN_ELEMENTARY(f)                                                     \
  inline attn::test::Counted f(attn::test::Counted x, attn::test::Counted y) { \
    return attn::test::Counted::made(std::f(x.value(), y.value()));            \
  }
ATTN_ELEMENTARY(pow)
ATTN_ELEMENTARY(fmod)
ATTN_ELEMENTARY(atan2)
#undef ATTN_ELEMENTARY
#define ATTN_FREE(type, f) \
  inline type f(attn::test::Counted x) { return std::f(x.value()); }
ATTN_FREE(attn::test::Counted, abs)
ATTN_FREE(attn::test::Counted, floor)
ATTN_FREE(attn::test::Counted, ceil)
ATTN_FREE(attn::test::Counted, trunc)
ATTN_FREE(attn::test::Counted, nearbyint)
ATTN_FREE(attn::test::Counted, rint)
ATTN_FREE(bool, isnan)
ATTN_FREE(bool, isinf)
ATTN_FREE(bool, isfinite)
ATTN_FREE(bool, signbit)
#undef ATTN_FREE
inline attn::test::Counted ldexp(attn::test::Counted x, int exponent) { return std::ldexp(x.value(), exponent); }
inline int ilogb(attn::test::Counted x) { return std::ilogb(x.value()); }
inline attn::test::Counted copysign(attn::test::Counted x, attn::test::Counted sign) {
  return std::copysign(x.value(), sign.value());
}
inline attn::test::Counted clamp(attn::test::Counted x, double low, double high) {
  return std::clamp(x.value(), low, high);
}
inline attn::test::Counted max(attn::test::Counted x, double y) { return std::max(x.value(), y); }
inline attn::test::Counted min(attn::test::Counted x, double y) { return std::min(x.value(), y); }
template <>
struct numeric_limits<attn::test::Counted> : numeric_limits<double> {};
template <>
inline constexpr bool is_floating_point_v<attn::test::Counted> = true;
// NOLINTEND
}  // namespace std

namespace attn::backends {
[[nodiscard]] test::Counted apply(const graph::Unary& function, test::Counted x);
[[nodiscard]] test::Counted derivative(const graph::Unary& function, test::Counted x);
}  // namespace attn::backends

#ifdef ATTN_COUNTED_SOURCE
#ifdef __clang__
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define double attn::test::Counted
#endif
