// The four floating dtypes as number types, with the rounding of their arithmetic. Private to the module.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "attn/base/dtype.h"
#include "attn/base/error.h"
#include "attn/base/tensor.h"

namespace attn::optimizers {

/// float16 or bfloat16. Each operation computes in float32 and rounds its result, as TensorFlow's kernels do.
template <DType kHalf>
class Half {
 public:
  static constexpr DType kDType = kHalf;

  Half() = default;
  explicit Half(float x) : bits_(kDType == DType::float16 ? float_to_float16(x) : float_to_bfloat16(x)) {}
  explicit Half(double x) : bits_(kDType == DType::float16 ? double_to_float16(x) : double_to_bfloat16(x)) {}
  explicit operator float() const {
    return kDType == DType::float16 ? float16_to_float(bits_) : bfloat16_to_float(bits_);
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

  friend Half operator+(Half x, Half y) { return Half(static_cast<float>(x) + static_cast<float>(y)); }
  friend Half operator-(Half x, Half y) { return Half(static_cast<float>(x) - static_cast<float>(y)); }
  friend Half operator*(Half x, Half y) { return Half(static_cast<float>(x) * static_cast<float>(y)); }
  friend Half operator/(Half x, Half y) { return Half(static_cast<float>(x) / static_cast<float>(y)); }
  friend Half operator-(Half x) { return Half(-static_cast<float>(x)); }
  Half& operator+=(Half y) { return *this = *this + y; }
  Half& operator-=(Half y) { return *this = *this - y; }
  Half& operator*=(Half y) { return *this = *this * y; }
  Half& operator/=(Half y) { return *this = *this / y; }
  friend bool operator<(Half x, Half y) { return static_cast<float>(x) < static_cast<float>(y); }
  friend bool operator>(Half x, Half y) { return y < x; }
  friend bool operator>=(Half x, Half y) { return static_cast<float>(x) >= static_cast<float>(y); }
  friend bool operator==(Half x, Half y) { return static_cast<float>(x) == static_cast<float>(y); }

 private:
  std::uint16_t bits_ = 0;
};

using Float16 = Half<DType::float16>;
using BFloat16 = Half<DType::bfloat16>;

template <typename T>
inline constexpr bool kIsHalf = !std::is_floating_point_v<T>;

/// The type of a step's scalars, such as bias corrections. For half precision it is the type itself, because there the
/// rounding of a scalar decides the step: 0.999 is 1 in bfloat16. For the others it is double.
template <typename T>
using Scalar = std::conditional_t<kIsHalf<T>, T, double>;
/// The type of sums over many numbers.
template <typename T>
using Accumulator = std::conditional_t<kIsHalf<T>, float, T>;

template <typename T>
[[gnu::always_inline]] inline T square_root(T x) {
  if constexpr (kIsHalf<T>)
    return T(std::sqrt(static_cast<float>(x)));
  else
    return std::sqrt(x);
}
template <typename T>
[[gnu::always_inline]] inline T magnitude(T x) {
  if constexpr (kIsHalf<T>)
    return T(std::abs(static_cast<float>(x)));
  else
    return std::abs(x);
}
template <typename T>
[[gnu::always_inline]] inline T power(T x, T y) {
  if constexpr (kIsHalf<T>)
    return T(std::pow(static_cast<float>(x), static_cast<float>(y)));
  else
    return std::pow(x, y);
}
/// Casts a setting as keras.ops.cast does on TensorFlow: to float32 first, even if T is float64.
template <typename T>
[[gnu::always_inline]] inline T cast_to(double x) {
  return T(static_cast<float>(x));
}
/// Returns base^t, where `base` is a setting that is cast to T first.
template <typename T>
[[gnu::always_inline]] inline Scalar<T> power_of(double base, double t) {
  return power(Scalar<T>(static_cast<double>(cast_to<T>(base))), Scalar<T>(t));
}

/// Calls `visit` with a zero of the dtype's C++ type. The dtype must be a floating-point one.
template <typename Visit>
decltype(auto) with_number(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::float32:
      return visit(float{});
    case DType::float64:
      return visit(double{});
    case DType::float16:
      return visit(Float16{});
    case DType::bfloat16:
      return visit(BFloat16{});
    default:
      throw internal_error("a variable of {} is trained", name_of(dtype));
  }
}

}  // namespace attn::optimizers
