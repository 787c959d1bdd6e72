#include "classes/ops/array/number_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/base/error.h"

namespace attn::keras {

std::pair<double, double> number_range(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return {0.0, 1.0};
    case DType::uint8:
      return {0.0, 255.0};
    case DType::int8:
      return {-128.0, 127.0};
    case DType::uint16:
      return {0.0, 65535.0};
    case DType::int16:
      return {-32768.0, 32767.0};
    case DType::uint32:
      return {0.0, 4294967295.0};
    case DType::int32:
      return {-2147483648.0, 2147483647.0};
    case DType::float16:
      return {-65504.0, 65504.0};
    case DType::bfloat16:
      return {-std::ldexp(255.0, 120), std::ldexp(255.0, 120)};
    case DType::float32:
      return {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
    case DType::float64:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
    default:
      throw bad_input("the range of {} is not supported; cast to int32 or a floating dtype", name_of(dtype));
  }
}

graph::ValueId saturated(graph::Builder& b, graph::ValueId x, DType dtype) {
  const DType given = b.dtype(x);
  if (given == dtype || given == DType::boolean) return b.cast(x, dtype);
  auto [least, greatest] = number_range(dtype);
  const bool floating = is_floating(given) && is_floating(dtype);
  if (floating) {
    const auto [given_least, given_greatest] = number_range(given);
    least = std::max(least, given_least);
    greatest = std::min(greatest, given_greatest);
  }
  // float64 represents the limits of integers exactly, and every x except for large integers.
  const graph::ValueId wide = floating ? x : b.cast(x, DType::float64);
  return b.cast(b.unary(graph::UnaryFn::clip, wide, least, greatest), dtype);
}

}  // namespace attn::keras
