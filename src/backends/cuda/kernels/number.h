// The elements of operands as numbers of any dtype: widened on load, rounded once on store, as in the reference
// backend.
//
// A kernel computes in one of four types: float (float32, float16, bfloat16, bool), double (float64), std::int64_t and
// std::uint64_t (integers, modulo 2^64).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "attn/base/dtype.h"
#include "kernel.h"
#include "simt.h"

namespace attn::cuda {

/// An operand as passed to a kernel.
struct Array {
  std::byte* data = nullptr;
  DType dtype = DType::float32;
};
[[nodiscard]] inline Array array_of(const Operand& operand) { return {operand.data, operand.dtype}; }

template <typename T>
__device__ __forceinline__ T& element(const Array& x, std::int64_t i) {
  return reinterpret_cast<T*>(x.data)[i];
}

/// Loads element i of x. For float, x must have a dtype that is computed in float; for the integer types, an integer
/// dtype.
template <typename Number>
__device__ __forceinline__ Number load(const Array& x, std::int64_t i) {
  if constexpr (!std::is_integral_v<Number>) {
    switch (x.dtype) {
      case DType::float32:
        return static_cast<Number>(element<float>(x, i));
      case DType::float16:
        return static_cast<Number>(__half2float(element<__half>(x, i)));
      case DType::bfloat16:
        return static_cast<Number>(__bfloat162float(element<__nv_bfloat16>(x, i)));
      case DType::boolean:
        return static_cast<Number>(element<std::uint8_t>(x, i) != 0 ? 1 : 0);
      default:
        break;
    }
  }
  if constexpr (!std::is_same_v<Number, float>) {
    switch (x.dtype) {
      case DType::float64:
        return static_cast<Number>(element<double>(x, i));
      case DType::int64:
        return static_cast<Number>(element<std::int64_t>(x, i));
      case DType::int32:
        return static_cast<Number>(element<std::int32_t>(x, i));
      case DType::int16:
        return static_cast<Number>(element<std::int16_t>(x, i));
      case DType::int8:
        return static_cast<Number>(element<std::int8_t>(x, i));
      case DType::uint64:
        return static_cast<Number>(element<std::uint64_t>(x, i));
      case DType::uint32:
        return static_cast<Number>(element<std::uint32_t>(x, i));
      case DType::uint16:
        return static_cast<Number>(element<std::uint16_t>(x, i));
      case DType::uint8:
        return static_cast<Number>(element<std::uint8_t>(x, i));
      default:
        break;
    }
  }
  return Number{};
}

/// Converts a number to an integer of type T. Integers keep their low bits. Floats are truncated and saturate; NaN
/// becomes 0.
template <typename T, typename Number>
__device__ __forceinline__ T to_integer(Number number) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<T>(number);
  } else {
    // Double cannot represent the limits of the 64-bit types: max() rounds up to a power of two, the first value that
    // is too large.
    const auto wide = static_cast<double>(number);
    if (wide != wide) return 0;
    if (wide <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (wide >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(wide);
  }
}

/// Stores a number in y's dtype, rounding floats to nearest even.
template <typename Number>
__device__ __forceinline__ void store(const Array& y, std::int64_t i, Number number) {
  switch (y.dtype) {
    case DType::float64:
      element<double>(y, i) = static_cast<double>(number);
      break;
    case DType::float32:
      element<float>(y, i) = static_cast<float>(number);
      break;
    case DType::float16:
      if constexpr (std::is_same_v<Number, float>) {
        element<__half>(y, i) = __float2half_rn(number);
      } else {
        element<__half>(y, i) = __double2half(static_cast<double>(number));
      }
      break;
    case DType::bfloat16:
      if constexpr (std::is_same_v<Number, float>) {
        element<__nv_bfloat16>(y, i) = __float2bfloat16_rn(number);
      } else {
        element<__nv_bfloat16>(y, i) = __double2bfloat16(static_cast<double>(number));
      }
      break;
    case DType::int64:
      element<std::int64_t>(y, i) = to_integer<std::int64_t>(number);
      break;
    case DType::int32:
      element<std::int32_t>(y, i) = to_integer<std::int32_t>(number);
      break;
    case DType::int16:
      element<std::int16_t>(y, i) = to_integer<std::int16_t>(number);
      break;
    case DType::int8:
      element<std::int8_t>(y, i) = to_integer<std::int8_t>(number);
      break;
    case DType::uint64:
      element<std::uint64_t>(y, i) = to_integer<std::uint64_t>(number);
      break;
    case DType::uint32:
      element<std::uint32_t>(y, i) = to_integer<std::uint32_t>(number);
      break;
    case DType::uint16:
      element<std::uint16_t>(y, i) = to_integer<std::uint16_t>(number);
      break;
    case DType::uint8:
      element<std::uint8_t>(y, i) = to_integer<std::uint8_t>(number);
      break;
    case DType::boolean:
      element<std::uint8_t>(y, i) = number != Number{} ? 1 : 0;
      break;
  }
}

/// Calls f with a zero of the type in which arithmetic on `dtype` is done.
template <typename Function>
void with_number_of(DType dtype, Function f) {
  if (dtype == DType::float64) return f(double{});
  if (dtype == DType::uint64) return f(std::uint64_t{});
  if (is_integer(dtype)) return f(std::int64_t{});
  f(float{});
}

/// Calls f with a zero of the type in which sums and products of `dtype` are computed. Integers use an unsigned type,
/// because sums modulo 2^64 need no sign, and unsigned numbers may wrap.
template <typename Function>
void with_ring_of(DType dtype, Function f) {
  if (dtype == DType::float64) return f(double{});
  if (is_integer(dtype)) return f(std::uint64_t{});
  f(float{});
}

/// Calls f with a zero of the type for operations that compute integers in double: double for float64 and integers,
/// otherwise float.
template <typename Function>
void with_float_of(DType dtype, Function f) {
  if (dtype == DType::float64 || is_integer(dtype)) return f(double{});
  f(float{});
}

/// Calls f with a zero of an unsigned integer as wide as the elements of `dtype`.
template <typename Function>
void with_bytes_of(DType dtype, Function f) {
  switch (bytes_of(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace attn::cuda
