// Reductions over axes, and cumulative sums.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "attn/base/error.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

using graph::ReduceFn;

template <typename Number>
using Row = std::vector<Number>;

/// Returns whether x < y, where −0 is below 0, as in Keras's order.
template <typename Number>
bool less(Number x, Number y) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (x == y) return std::signbit(x) && !std::signbit(y);
  }
  return x < y;
}

/// Returns the index of the first largest element. NaN never wins (as in TensorFlow), so a row of NaN gives 0.
template <typename Number>
std::size_t argmax(const Row<Number>& row, bool smallest) {
  std::optional<std::size_t> best;
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (row[j] != row[j]) continue;
    if (!best || (smallest ? less(row[j], row[*best]) : less(row[*best], row[j]))) best = j;
  }
  return best.value_or(0);
}

/// Returns the largest or smallest element, NaN if any is NaN.
template <typename Number>
Number extreme(const Row<Number>& row, bool smallest) {
  Number best = row[0];
  for (const Number x : row) {
    if (x != x) return x;
    if (smallest ? x < best : x > best) best = x;
  }
  return best;
}

/// Returns ln Σ eˣ, shifted by the maximum if that is finite.
double logsumexp(const Row<double>& row) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (const double x : row) maximum = std::max(maximum, x);
  const double shift = std::isfinite(maximum) ? maximum : 0.0;
  double sum = 0.0;
  for (const double x : row) sum += std::exp(x - shift);
  return std::log(sum) + shift;
}

/// Adds or multiplies; integers wrap modulo 2^64.
template <typename Number>
Number add(Number x, Number y) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
  } else {
    return x + y;
  }
}
template <typename Number>
Number multiply(Number x, Number y) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
  } else {
    return x * y;
  }
}

template <typename Number>
Number reduce(ReduceFn fn, const Row<Number>& row) {
  const auto sum = [&] {
    Number total = 0;
    for (const Number x : row) total = add(total, x);
    return total;
  };
  const auto is_true = [](Number x) { return x != 0; };
  switch (fn) {
    case ReduceFn::sum:
      return sum();
    case ReduceFn::max:
      return extreme(row, false);
    case ReduceFn::min:
      return extreme(row, true);
    case ReduceFn::prod: {
      Number product = 1;
      for (const Number x : row) product = multiply(product, x);
      return product;
    }
    case ReduceFn::any:
      return static_cast<Number>(std::ranges::any_of(row, is_true));
    case ReduceFn::all:
      return static_cast<Number>(std::ranges::all_of(row, is_true));
    case ReduceFn::argmax:
      return static_cast<Number>(argmax(row, false));
    case ReduceFn::argmin:
      return static_cast<Number>(argmax(row, true));
    case ReduceFn::mean:
      if constexpr (std::is_floating_point_v<Number>) return sum() / static_cast<Number>(row.size());
      break;
    case ReduceFn::logsumexp:
      if constexpr (std::is_floating_point_v<Number>) return logsumexp(row);
      break;
  }
  throw internal_error("{} of integers is not an integer", graph::name_of(fn));
}

}  // namespace

void compute(const graph::Reduce& op, Tensors in, Tensors out) {
  const Slices rows = slices(in[0].shape(), op.axes);
  with_number_of(in[0].dtype(), [&](auto zero) {
    using Number = decltype(zero);
    const auto x = read<Number>(in[0]);
    std::vector<Number> y;
    Row<Number> row(rows.along.size());
    for (const std::int64_t start : rows.starts) {
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = x[static_cast<std::size_t>(start + rows.along[j])];
      y.push_back(reduce(op.fn, row));
    }
    write(out[0], y);
  });
}

void compute(const graph::Cumulate& op, Tensors in, Tensors out) {
  const int axis[] = {op.axis};
  Slices rows = slices(in[0].shape(), axis);
  if (op.reverse) std::ranges::reverse(rows.along);
  with_ring_of(in[0].dtype(), [&](auto zero) {
    using Number = decltype(zero);
    auto numbers = read<Number>(in[0]);
    for (const std::int64_t start : rows.starts) {
      Number running = op.product ? 1 : 0;
      for (const std::int64_t along : rows.along) {
        Number& x = numbers[static_cast<std::size_t>(start + along)];
        const Number before = running;
        running = op.product ? running * x : running + x;
        x = op.exclusive ? before : running;
      }
    }
    write(out[0], numbers);
  });
}

}  // namespace attn::backends::reference
