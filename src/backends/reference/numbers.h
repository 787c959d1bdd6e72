// Tensors as vectors of numbers: read at the start of an operation, rounded once at its end.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::backends::reference {

/// Returns the elements of x, row-major. Number is double, or a 64-bit integer if x is an integer or bool tensor.
template <typename Number>
[[nodiscard]] std::vector<Number> read(const Tensor& x);

/// Stores the numbers in y's dtype: floats are rounded to nearest even, and integers wrap modulo their width.
template <typename Number>
void write(const Tensor& y, const std::vector<Number>& numbers);

/// Returns the nearest number of a floating-point dtype, as a double.
template <typename Number>
[[nodiscard]] Number rounded(DType dtype, Number number);
template <>
[[nodiscard]] double rounded(DType dtype, double number);

/// Calls f with a zero of the type in which arithmetic on `dtype` is done: 64-bit integers for integers, so that they
/// stay exact, otherwise double.
template <typename Function>
void with_number_of(DType dtype, Function f) {
  if (dtype == DType::uint64) {
    f(std::uint64_t{});
  } else if (is_integer(dtype)) {
    f(std::int64_t{});
  } else {
    f(double{});
  }
}

/// Calls f with a zero of the type in which sums and products of `dtype` are computed. Integers use an unsigned type,
/// because sums modulo 2^64 need no sign, and unsigned numbers may wrap.
template <typename Function>
void with_ring_of(DType dtype, Function f) {
  if (is_integer(dtype)) {
    f(std::uint64_t{});
  } else {
    f(double{});
  }
}

}  // namespace attn::backends::reference
