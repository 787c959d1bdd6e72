#include "classes/ops/elimination.h"

#include <algorithm>
#include <numeric>

#include "attn/base/dtype.h"
#include "attn/base/error.h"
#include "classes/ops/array/layout.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;

constexpr Dim kLargest = 256;  // maximum rows and columns; each adds a step

Dim rows_of(const Expression& x) { return x.shape()[-2]; }
Dim columns_of(const Expression& x) { return x.shape()[-1]; }

/// Returns a range of rows of all matrices; columns() returns one of columns.
Expression rows(const Expression& x, Dim first, Dim behind) {
  return {*x.builder, sliced(*x.builder, x, x.shape().rank() - 2, {first, behind, 1})};
}
Expression columns(const Expression& x, Dim first, Dim behind) {
  return {*x.builder, sliced(*x.builder, x, x.shape().rank() - 1, {first, behind, 1})};
}
Expression joined(const std::vector<Expression>& parts, int axis_from_end) {
  std::vector<graph::ValueId> ids(parts.begin(), parts.end());
  if (ids.size() == 1) return parts.front();
  Builder& b = *parts.front().builder;
  return {b, b.apply(graph::Concat{parts.front().shape().rank() - axis_from_end}, ids)};
}
Expression stacked(const std::vector<Expression>& parts) { return joined(parts, 2); }
Expression side_by_side(const std::vector<Expression>& parts) { return joined(parts, 1); }

/// Prepends rows of zeros.
Expression lowered(const Expression& x, Dim count) {
  if (count == 0) return x;
  graph::Pad pad;
  pad.before.assign(static_cast<std::size_t>(x.shape().rank()), 0);
  pad.after = pad.before;
  pad.before[pad.before.size() - 2] = count;
  return {*x.builder, x.builder->apply(pad, {x})};
}
Expression summed(const Expression& x, int axis_from_end) {
  return x.reduced({ReduceFn::sum, {x.shape().rank() - axis_from_end}, true});
}
/// Returns 0, 1, … for the rows: (m, 1), in the dtype of x.
Expression counted_rows(const Expression& x, Dim size) {
  return {*x.builder, x.builder->apply(graph::Iota{{size, 1}, x.dtype(), 0, 0.0, 1.0}, {})};
}
/// Returns zeros with the shape of x, whatever the values of x.
Expression zeros_of(const Expression& x) { return where(x == x, x.number(0.0), x.number(0.0)); }
/// Reverses the order of rows, and optionally of columns.
Expression turned(const Expression& x, bool columns_too) {
  graph::Slice slice = whole(x.shape().rank());
  slice.ranges[slice.ranges.size() - 2].step = -1;
  if (columns_too) slice.ranges.back().step = -1;
  return {*x.builder, x.builder->apply(slice, {x})};
}

}  // namespace

Expression transposed(const Expression& x) {
  std::vector<int> order(static_cast<std::size_t>(x.shape().rank()));
  std::iota(order.begin(), order.end(), 0);
  std::iter_swap(order.end() - 1, order.end() - 2);
  return {*x.builder, x.builder->transpose(x, order)};
}

void expect_matrices(const Expression& x) {
  const Shape shape = x.shape();
  if (shape.rank() < 2) throw bad_input("expected matrices, got {}", shape.str());
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    throw bad_input("expected matrices of float32 or float64, got {}", name_of(x.dtype()));
  for (const Dim size : {rows_of(x), columns_of(x)})
    if (size == kUnknown || size < 1 || size > kLargest)
      throw bad_input("expected matrices of 1 to {} rows and columns, got {}", kLargest, shape.str());
}

void expect_square(const Expression& x) {
  expect_matrices(x);
  if (rows_of(x) != columns_of(x)) throw bad_input("expected square matrices, got {}", x.shape().str());
}

Eliminated eliminated(const Expression& x, const std::optional<Expression>& beside) {
  const Dim m = rows_of(x), n = columns_of(x), steps = std::min(m, n);
  // The last column has the original index of each row.
  std::vector<Expression> whole_rows = {x};
  if (beside) whole_rows.push_back(*beside);
  whole_rows.push_back(columns(zeros_of(x), 0, 1) + counted_rows(x, m));
  Expression left = side_by_side(whole_rows);
  const Dim width = columns_of(left);
  std::vector<Expression> done;
  std::optional<Expression> sign;
  for (Dim step = 0; step < steps; ++step) {
    const Dim count = m - step;
    const Expression sizes = abs(columns(left, step, step + 1));
    const Expression greatest = sizes.reduced({ReduceFn::argmax, {sizes.shape().rank() - 2}, true}).cast(x.dtype());
    const Expression chosen = counted_rows(x, count) == greatest;  // (…, count, 1)
    const Expression pivot = summed(where(chosen, left, left.number(0.0)), 2);
    const Expression turn = where(greatest == 0.0, greatest.number(1.0), greatest.number(-1.0));
    sign = sign ? *sign * turn : turn;
    done.push_back(pivot);
    if (count == 1) break;
    // Swaps the first row with the selected one.
    const Expression rest = rows(where(chosen, rows(left, 0, 1), left), 1, count);
    const Expression corner = columns(pivot, step, step + 1);
    const Expression factors = where(corner == 0.0, corner.number(0.0), columns(rest, step, step + 1) / corner);
    std::vector<Expression> parts;
    if (step > 0) parts.push_back(columns(rest, 0, step));
    parts.push_back(factors);
    if (step + 2 < width)
      parts.push_back(columns(rest, step + 1, width - 1) - factors * columns(pivot, step + 1, width - 1));
    parts.push_back(columns(rest, width - 1, width));
    left = side_by_side(parts);
  }
  if (m > steps) done.push_back(left);
  const Expression all = stacked(done);
  return {columns(all, 0, n), columns(all, width - 1, width), *sign,
          beside ? std::optional(columns(all, n, width - 1)) : std::nullopt};
}

Expression cholesky(const Expression& x) {
  const Dim n = rows_of(x);
  std::vector<Expression> out;
  Expression left = x;
  for (Dim step = 0; step < n; ++step) {
    const Expression first = columns(left, 0, 1), column = first / sqrt(rows(first, 0, 1));
    out.push_back(lowered(column, step));
    if (step + 1 == n) break;
    const Expression below = rows(column, 1, n - step);
    left = columns(rows(left, 1, n - step), 1, n - step) - below * transposed(below);
  }
  return side_by_side(out);
}

Expression solved_triangular(const Expression& a, const Expression& b, bool lower) {
  if (!lower) return turned(solved_triangular(turned(a, true), turned(b, false), true), false);
  const Dim n = rows_of(a);
  std::vector<Expression> out;
  Expression left = b;
  for (Dim step = 0; step < n; ++step) {
    const Expression column = columns(a, step, step + 1);
    out.push_back(rows(left, 0, 1) / rows(column, step, step + 1));
    if (step + 1 < n) left = rows(left, 1, n - step) - rows(column, step + 1, n) * out.back();
  }
  return stacked(out);
}

Expression solved(const Expression& a, const Expression& b) {
  const Eliminated system = eliminated(a, b);
  return solved_triangular(system.upper, *system.beside, false);
}

Expression unit_like(const Expression& x, Dim size) {
  Builder& b = *x.builder;
  const Expression across{b, b.apply(graph::Iota{{1, size}, x.dtype(), 1, 0.0, 1.0}, {})};
  return (counted_rows(x, size) == across).cast(x.dtype()) + columns(rows(zeros_of(x), 0, 1), 0, 1);
}

Expression diagonal(const Expression& x) {
  Builder& b = *x.builder;
  const Dim n = rows_of(x);
  const Shape shape = x.shape();
  Shape flat = shape.slice(0, shape.rank() - 2);
  flat.push_back(times(n, n));
  const graph::ValueId cells = b.apply(graph::Reshape{flat}, {x});
  return {b, sliced(b, cells, shape.rank() - 2, {0, times(n, n), n + 1})};
}

QrFactors qr_factors(const Expression& x) {
  const Dim m = rows_of(x), n = columns_of(x);
  Expression q = unit_like(x, m), left = x;
  std::vector<Expression> done;
  for (Dim step = 0; step < std::min(m, n); ++step) {
    const Dim count = m - step;
    if (count > 1) {
      // Reflects the column onto its first row, which preserves its norm.
      const Expression column = columns(left, step, step + 1), first = rows(column, 0, 1);
      const Expression below = rows(column, 1, count), tail = summed(square(below), 2);
      const Expression norm = sqrt(square(first) + tail), zero = first.number(0.0);
      const Expression onto = where(tail == 0.0, first, where(zero <= first, -norm, norm));
      const Expression mirror = stacked({first - onto, below});  // (…, count, 1)
      const Expression length = summed(square(mirror), 2);
      const Expression scale = where(length == 0.0, zero, first.number(2.0) / length);
      const Expression across = transposed(mirror);
      left = left - mirror * (scale * summed(mirror * left, 2));
      const Expression turning = columns(q, step, m);
      const Expression changed = turning - summed(turning * across, 1) * (scale * across);
      q = step == 0 ? changed : side_by_side({columns(q, 0, step), changed});
    }
    done.push_back(rows(left, 0, 1));
    if (count > 1) left = rows(left, 1, count);
  }
  if (m > n) done.push_back(left);
  Builder& b = *x.builder;
  const Expression across{b, b.apply(graph::Iota{{1, n}, x.dtype(), 1, 0.0, 1.0}, {})};
  const Expression r = stacked(done);
  return {q, where(counted_rows(x, m) <= across, r, r.number(0.0))};
}

}  // namespace attn::keras
