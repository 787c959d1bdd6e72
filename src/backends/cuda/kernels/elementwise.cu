// y[i] = f(x[i], …), with inputs broadcast to the output's shape.
#include <cmath>
#include <type_traits>

#include "device.h"
#include "fault.h"
#include "function.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;

template <typename Integer>
__device__ bool is_negative(Integer x) {
  if constexpr (std::is_signed_v<Integer>) return x < 0;
  return false;
}

/// Computes functions of an integer without double, which is exact only up to 2^53.
template <typename Integer>
__device__ Integer apply_to_integer(const Function<double>& f, Integer x) {
  const auto bits = static_cast<std::uint64_t>(x);
  switch (f.fn) {
    case UnaryFn::linear:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
      return x;
    case UnaryFn::absolute:
      return is_negative(x) ? static_cast<Integer>(-bits) : x;
    case UnaryFn::negative:
      return static_cast<Integer>(-bits);
    case UnaryFn::square:
      return static_cast<Integer>(bits * bits);
    case UnaryFn::sign:
      return is_negative(x) ? static_cast<Integer>(-1) : static_cast<Integer>(x != 0);
    default:
      return to_integer<Integer>(apply(f, static_cast<double>(x)));
  }
}

template <typename Number>
using FunctionOf = Function<std::conditional_t<std::is_integral_v<Number>, double, Number>>;

template <typename Number>
__global__ void unary_kernel(FunctionOf<Number> f, Array x, Array y, std::int64_t count) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= count) return;
  const Number number = load<Number>(x, i);
  if constexpr (std::is_integral_v<Number>) {
    store(y, i, apply_to_integer(f, number));
  } else {
    store(y, i, apply(f, number));
  }
}

template <typename Integer>
__device__ Integer integer_power(Integer x, Integer exponent, const Reporter& report) {
  if (is_negative(exponent)) {
    report(Fault::integer_to_negative_power, static_cast<std::int64_t>(exponent), 0);
    return 0;
  }
  std::uint64_t result = 1;
  auto square = static_cast<std::uint64_t>(x);
  for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
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
__device__ Division<Integer> floor_division(Integer x, Integer y, const Reporter& report) {
  if (y == 0) {
    report(Fault::integer_division_by_zero, static_cast<std::int64_t>(x), 0);
    return {0, 0};
  }
  if constexpr (std::is_signed_v<Integer>) {
    if (y == -1)
      return {static_cast<Integer>(-static_cast<std::uint64_t>(x)), 0};  // −2^63 / −1 wraps, as in the
                                                                         // reference backend
  }
  Division<Integer> result{static_cast<Integer>(x / y), static_cast<Integer>(x % y)};
  if (result.remainder != 0 && is_negative(result.remainder) != is_negative(y)) {
    --result.quotient;
    result.remainder += y;
  }
  return result;
}

template <typename Number>
__device__ Number arithmetic(BinaryFn fn, Number x, Number y, const Reporter& report) {
  if constexpr (std::is_integral_v<Number>) {
    const auto u = static_cast<std::uint64_t>(x);
    const auto v = static_cast<std::uint64_t>(y);
    switch (fn) {
      case BinaryFn::add:
        return static_cast<Number>(u + v);
      case BinaryFn::subtract:
        return static_cast<Number>(u - v);
      case BinaryFn::multiply:
        return static_cast<Number>(u * v);
      case BinaryFn::floor_divide:
        return floor_division(x, y, report).quotient;
      case BinaryFn::mod:
        return floor_division(x, y, report).remainder;
      case BinaryFn::power:
        return integer_power(x, y, report);
      case BinaryFn::maximum:
        return x > y ? x : y;
      case BinaryFn::minimum:
        return x < y ? x : y;
      default:
        return 0;
    }
  } else {
    switch (fn) {
      case BinaryFn::add:
        return x + y;
      case BinaryFn::subtract:
        return x - y;
      case BinaryFn::multiply:
        return x * y;
      case BinaryFn::divide:
        return x / y;
      case BinaryFn::floor_divide:  // in float, a quotient just below an integer would round up to it
        return static_cast<Number>(std::floor(static_cast<double>(x) / static_cast<double>(y)));
      case BinaryFn::mod: {
        const Number remainder = std::fmod(x, y);
        return remainder != Number(0) && (remainder < Number(0)) != (y < Number(0)) ? remainder + y : remainder;
      }
      case BinaryFn::power:
        return std::pow(x, y);
      case BinaryFn::maximum:
        return x != x || x > y ? x : y;
      case BinaryFn::minimum:
        return x != x || x < y ? x : y;
      case BinaryFn::atan2:
        return std::atan2(x, y);
      default:
        return Number(0);
    }
  }
}

template <typename Number>
__device__ bool compares(BinaryFn fn, Number x, Number y) {
  const Number zero{};
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
      return x != zero && y != zero;
    case BinaryFn::logical_or:
      return x != zero || y != zero;
    case BinaryFn::logical_xor:
      return (x != zero) != (y != zero);
    default:
      return false;
  }
}

bool gives_bool(BinaryFn fn) { return fn >= BinaryFn::equal; }

template <typename Number>
__global__ void binary_kernel(BinaryFn fn, Walk<2> walk, Array x, Array y, Array z, Reporter report) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= walk.count) return;
  const auto at = walk.at(i);
  store(z, i, arithmetic(fn, load<Number>(x, at.of[0]), load<Number>(y, at.of[1]), report));
}

template <typename Number>
__global__ void comparison_kernel(BinaryFn fn, Walk<2> walk, Array x, Array y, Array z) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= walk.count) return;
  const auto at = walk.at(i);
  element<std::uint8_t>(z, i) = compares(fn, load<Number>(x, at.of[0]), load<Number>(y, at.of[1])) ? 1 : 0;
}

template <typename Element>
__global__ void select_kernel(Walk<3> walk, Array condition, Array x, Array y, Array z) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= walk.count) return;
  const auto at = walk.at(i);
  const bool chosen = element<std::uint8_t>(condition, at.of[0]) != 0;
  element<Element>(z, i) = chosen ? element<Element>(x, at.of[1]) : element<Element>(y, at.of[2]);
}

template <typename Number>
__global__ void cast_kernel(Array x, Array y, std::int64_t count) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i < count) store(y, i, load<Number>(x, i));
}

__global__ void fill_kernel(Array y, std::int64_t count, double value) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i < count) store(y, i, value);
}

/// y[i] = start + step·(index of element i along an axis of `size` whose step in memory is `inner`).
__global__ void iota_kernel(Array y, std::int64_t count, std::int64_t inner, std::int64_t size, double start,
                            double step) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= count) return;
  const auto index = static_cast<double>(divide(divide(i, inner).quotient, size).remainder);
  store(y, i, __dadd_rn(start, __dmul_rn(step, index)));  // rounded twice, as on the CPU
}

}  // namespace

Choice make_plain(const graph::Unary& op, const Step& step) {
  const Array x = array_of(step.inputs[0]), y = array_of(step.outputs[0]);
  const std::int64_t count = step.outputs[0].size();
  return {"plain", [=](cudaStream_t stream) {
            with_number_of(x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              using Computed = std::conditional_t<std::is_integral_v<Number>, double, Number>;
              check(launch(unary_kernel<Number>, thread_each(count), stream, function_of<Computed>(op), x, y, count),
                    "unary");
            });
          }};
}

Choice make_plain(const graph::Binary& op, const Step& step) {
  const Array x = array_of(step.inputs[0]), y = array_of(step.inputs[1]), z = array_of(step.outputs[0]);
  const Shape& shape = step.outputs[0].shape;
  const auto walk = walk_over<2>(
      {shape.dims(), {broadcast_steps(step.inputs[0].shape, shape), broadcast_steps(step.inputs[1].shape, shape)}});
  if (!walk) return too_many_axes();
  return {"plain", [op, x, y, z, walk = *walk, report = reporter_of(step)](cudaStream_t stream) {
            with_number_of(x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              const LaunchShape threads = thread_each(walk.count);
              if (gives_bool(op.fn)) {
                check(launch(comparison_kernel<Number>, threads, stream, op.fn, walk, x, y, z), "comparison");
              } else {
                check(launch(binary_kernel<Number>, threads, stream, op.fn, walk, x, y, z, report), "binary");
              }
            });
          }};
}

Choice make_plain(const graph::Select&, const Step& step) {
  const Array condition = array_of(step.inputs[0]), x = array_of(step.inputs[1]), y = array_of(step.inputs[2]);
  const Array z = array_of(step.outputs[0]);
  const Shape& shape = step.outputs[0].shape;
  Axes axes{shape.dims(), {}};
  for (const Operand& input : step.inputs) axes.steps.push_back(broadcast_steps(input.shape, shape));
  const auto walk = walk_over<3>(axes);
  if (!walk) return too_many_axes();
  return {"plain", [=, walk = *walk](cudaStream_t stream) {
            with_bytes_of(z.dtype, [&](auto zero) {
              check(launch(select_kernel<decltype(zero)>, thread_each(walk.count), stream, walk, condition, x, y, z),
                    "select");
            });
          }};
}

Choice make_plain(const graph::Cast&, const Step& step) {
  const Array x = array_of(step.inputs[0]), y = array_of(step.outputs[0]);
  const std::int64_t count = step.outputs[0].size();
  return {"plain", [=](cudaStream_t stream) {
            with_number_of(x.dtype, [&](auto zero) {
              check(launch(cast_kernel<decltype(zero)>, thread_each(count), stream, x, y, count), "cast");
            });
          }};
}

Choice make_plain(const graph::Fill& op, const Step& step) {
  const Array y = array_of(step.outputs[0]);
  const std::int64_t count = step.outputs[0].size();
  return {"plain", [=, value = op.value](cudaStream_t stream) {
            check(launch(fill_kernel, thread_each(count), stream, y, count, value), "fill");
          }};
}

Choice make_plain(const graph::Iota& op, const Step& step) {
  const Array y = array_of(step.outputs[0]);
  const Shape& shape = step.outputs[0].shape;
  const std::int64_t count = shape.size(), inner = steps_of(shape)[static_cast<std::size_t>(op.axis)];
  const std::int64_t size = shape[op.axis];
  return {"plain", [=, start = op.start, step_size = op.step](cudaStream_t stream) {
            check(launch(iota_kernel, thread_each(count), stream, y, count, inner, size, start, step_size), "iota");
          }};
}

}  // namespace attn::cuda
