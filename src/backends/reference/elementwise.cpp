// y[i] = f(x[i], …), with inputs broadcast to the output's shape.
#include <cmath>
#include <type_traits>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;

/// Computes functions of an integer without double, which is exact only up to 2^53.
template <typename Integer>
Integer apply_to_integer(const graph::Unary& op, Integer x) {
  const auto bits = static_cast<std::uint64_t>(x);
  switch (op.fn) {
    case UnaryFn::linear:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
      return x;
    case UnaryFn::absolute:
      return x < 0 ? static_cast<Integer>(-bits) : x;
    case UnaryFn::negative:
      return static_cast<Integer>(-bits);
    case UnaryFn::square:
      return static_cast<Integer>(bits * bits);
    case UnaryFn::sign:
      return static_cast<Integer>(x > 0) - static_cast<Integer>(x < 0);
    default:
      return static_cast<Integer>(apply(op, static_cast<double>(x)));
  }
}

template <typename Integer>
Integer integer_power(Integer x, Integer exponent) {
  if (exponent < 0) throw bad_input("power: an integer to the negative power {} is not an integer", exponent);
  std::uint64_t result = 1;
  auto square = static_cast<std::uint64_t>(x);
  for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return static_cast<Integer>(result);
}

/// Returns quotient and remainder of Python's floor division; the remainder has the divisor's sign.
template <typename Integer>
struct Division {
  Integer quotient, remainder;
};
template <typename Integer>
Division<Integer> floor_division(Integer x, Integer y) {
  if (y == 0) throw bad_input("integer division of {} by zero", x);
  if (y == static_cast<Integer>(-1) && std::is_signed_v<Integer>) {  // −2^63 / −1 wraps, as in other backends
    return {static_cast<Integer>(-static_cast<std::uint64_t>(x)), 0};
  }
  Division<Integer> result{static_cast<Integer>(x / y), static_cast<Integer>(x % y)};
  if (result.remainder != 0 && (result.remainder < 0) != (y < 0)) {
    --result.quotient;
    result.remainder += y;
  }
  return result;
}

double floor_mod(double x, double y) {
  const double remainder = std::fmod(x, y);
  return remainder != 0.0 && (remainder < 0.0) != (y < 0.0) ? remainder + y : remainder;
}

/// Computes an arithmetic function of two numbers. The result is NaN if either is NaN, also for maximum and minimum.
double arithmetic(BinaryFn fn, double x, double y) {
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
      return std::floor(x / y);
    case BinaryFn::mod:
      return floor_mod(x, y);
    case BinaryFn::power:
      return std::pow(x, y);
    case BinaryFn::maximum:
      return std::isnan(x) || x > y ? x : y;
    case BinaryFn::minimum:
      return std::isnan(x) || x < y ? x : y;
    case BinaryFn::atan2:
      return std::atan2(x, y);
    default:
      throw internal_error("{} is not an arithmetic function", graph::name_of(fn));
  }
}

template <typename Integer>
Integer arithmetic(BinaryFn fn, Integer x, Integer y) {
  const auto u = static_cast<std::uint64_t>(x);
  const auto v = static_cast<std::uint64_t>(y);
  switch (fn) {
    case BinaryFn::add:
      return static_cast<Integer>(u + v);
    case BinaryFn::subtract:
      return static_cast<Integer>(u - v);
    case BinaryFn::multiply:
      return static_cast<Integer>(u * v);
    case BinaryFn::floor_divide:
      return floor_division(x, y).quotient;
    case BinaryFn::mod:
      return floor_division(x, y).remainder;
    case BinaryFn::power:
      return integer_power(x, y);
    case BinaryFn::maximum:
      return x > y ? x : y;
    case BinaryFn::minimum:
      return x < y ? x : y;
    default:
      throw internal_error("{} of integers is not an integer", graph::name_of(fn));
  }
}

template <typename Number>
bool compares(BinaryFn fn, Number x, Number y) {
  switch (fn) {
    case BinaryFn::equal:
      return x == y;
    case BinaryFn::not_equal:
      return x != y;
    case BinaryFn::less:
      return x < y;
    case BinaryFn::less_equal:
      return x <= y;
    case BinaryFn::greater:
      return x > y;
    case BinaryFn::greater_equal:
      return x >= y;
    case BinaryFn::logical_and:
      return x != 0 && y != 0;
    case BinaryFn::logical_or:
      return x != 0 || y != 0;
    case BinaryFn::logical_xor:
      return (x != 0) != (y != 0);
    default:
      throw internal_error("{} is not a comparison", graph::name_of(fn));
  }
}

bool gives_bool(BinaryFn fn) { return fn >= BinaryFn::equal; }

template <typename Number>
void compute_binary(BinaryFn fn, Tensors in, const Tensor& out) {
  const auto x = read<Number>(in[0]);
  const auto y = read<Number>(in[1]);
  const Offsets at_x = broadcast_offsets(in[0].shape(), out.shape());
  const Offsets at_y = broadcast_offsets(in[1].shape(), out.shape());
  std::vector<Number> result(at_x.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Number a = x[static_cast<std::size_t>(at_x[i])];
    const Number b = y[static_cast<std::size_t>(at_y[i])];
    result[i] = gives_bool(fn) ? static_cast<Number>(compares(fn, a, b)) : arithmetic(fn, a, b);
  }
  write(out, result);
}

}  // namespace

void compute(const graph::Unary& op, Tensors in, Tensors out) {
  with_number_of(in[0].dtype(), [&](auto zero) {
    using Number = decltype(zero);
    auto numbers = read<Number>(in[0]);
    for (Number& x : numbers) {
      if constexpr (std::is_integral_v<Number>) {
        x = apply_to_integer(op, x);
      } else {
        x = apply(op, x);
      }
    }
    write(out[0], numbers);
  });
}

void compute(const graph::Binary& op, Tensors in, Tensors out) {
  with_number_of(in[0].dtype(), [&](auto zero) { compute_binary<decltype(zero)>(op.fn, in, out[0]); });
}

void compute(const graph::Select&, Tensors in, Tensors out) {
  const auto condition = read<double>(in[0]);
  const Offsets at_condition = broadcast_offsets(in[0].shape(), out[0].shape());
  const Offsets at_x = broadcast_offsets(in[1].shape(), out[0].shape());
  const Offsets at_y = broadcast_offsets(in[2].shape(), out[0].shape());
  with_number_of(out[0].dtype(), [&](auto zero) {
    using Number = decltype(zero);
    const auto x = read<Number>(in[1]);
    const auto y = read<Number>(in[2]);
    std::vector<Number> result(at_x.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const bool chosen = condition[static_cast<std::size_t>(at_condition[i])] != 0.0;
      result[i] = chosen ? x[static_cast<std::size_t>(at_x[i])] : y[static_cast<std::size_t>(at_y[i])];
    }
    write(out[0], result);
  });
}

void compute(const graph::Cast&, Tensors in, Tensors out) {
  // A conversion to a narrower integer keeps the low bits, as in C and in TensorFlow.
  with_number_of(in[0].dtype(), [&](auto zero) { write(out[0], read<decltype(zero)>(in[0])); });
}

void compute(const graph::Fill& op, Tensors, Tensors out) {
  write(out[0], std::vector<double>(static_cast<std::size_t>(out[0].size()), op.value));
}

void compute(const graph::Iota& op, Tensors, Tensors out) {
  Offsets steps(static_cast<std::size_t>(op.shape.rank()), 0);
  steps[static_cast<std::size_t>(op.axis)] = 1;
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(out[0].size()));
  for (const std::int64_t index : offsets(out[0].shape().dims(), steps)) {
    result.push_back(op.start + op.step * static_cast<double>(index));
  }
  write(out[0], result);
}

}  // namespace attn::backends::reference
