// Sorting. Graphs have no operation that sorts. The rank of an element is the number of elements before it, and the k
// best are selected one after the other.
#include <array>
#include <cmath>
#include <limits>

#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

/// The maximum size of a sorted axis. Each element is compared with all others, which needs 64 MiB for each row.
constexpr Dim kMostSorted = 4096;
constexpr std::int64_t kMostBest = 1024;

Expression counted(Builder& b, Dim size, int axis, int rank) {
  Shape shape(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
  shape[axis] = size;
  return {b, b.apply(graph::Iota{shape, DType::int64, axis, 0.0, 1.0}, {})};
}

/// Returns the indices (int64) that sort the last axis of x in ascending order; the order is stable. With `nan_last`,
/// NaN comes after all numbers.
ValueId order_of(Builder& b, ValueId value, bool nan_last = false) {
  const Shape shape = b.shape(value);
  const int last = shape.rank() - 1;
  const Dim size = shape.back();
  if (size > kMostSorted) throw bad_input("{} elements cannot be sorted, {} are the most", size, kMostSorted);
  const Expression own{b, b.expand_dims(value, -1)}, other{b, b.expand_dims(value, -2)};  // (…, i, 1), (…, 1, j)
  const int rank = last + 2;
  const Expression i = counted(b, size, last, rank), j = counted(b, size, last + 1, rank);
  Expression before = (other < own) | ((other == own) & (j < i));
  if (nan_last) {
    const Expression no_number = isnan(own), number = isnan(other).unary(graph::UnaryFn::logical_not);
    before = before | (no_number & number) | (no_number & isnan(other) & (j < i));
  }
  const Expression place = before.cast(DType::int64).reduced({ReduceFn::sum, {last + 1}, true});  // (…, i, 1)
  return Expression{where(place == j, i, i.number(0.0))}.reduced({ReduceFn::sum, {last}, false});
}

ValueId last_axis(Builder& b, ValueId x, int axis) {
  return moved(b, x, std::array{axis}, std::array{b.shape(x).rank() - 1});
}
ValueId axis_back(Builder& b, ValueId x, int axis) {
  return moved(b, x, std::array{b.shape(x).rank() - 1}, std::array{axis});
}

/// sort and argsort along an axis, or of the flattened tensor.
template <bool kIndices>
class Sort : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = call.tensor("x")->id;
    if (!axis) x = b.reshape(x, {kUnknown});
    const int at = axis ? axis_in(*axis, b.shape(x)) : 0;
    if (call.lowering().symbolic()) return Call::result(kIndices ? b.cast(x, DType::int32) : x);
    const bool boolean = b.dtype(x) == DType::boolean;
    const ValueId rows = last_axis(b, boolean ? b.cast(x, DType::int32) : x, at);
    ValueId out = order_of(b, rows);
    if (!kIndices) out = b.cast(taken_along(b, rows, out, b.shape(rows).rank() - 1), b.dtype(x));
    return Call::result(axis_back(b, kIndices ? b.cast(out, DType::int32) : out, at));
  }

 private:
  std::optional<std::int64_t> axis = -1;
};

/// The k largest elements of the last axis and their indices, in descending order.
class TopK : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("k", k);
    f("sorted", sorted);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    if (shape.rank() == 0) throw bad_input("top_k needs an axis");
    const int last = shape.rank() - 1;
    if (k > kMostBest || (shape.back() != kUnknown && k > shape.back()))
      throw bad_input("the {} greatest of {} elements cannot be taken; {} are the most", k.value, shape.back(),
                      kMostBest);
    if (call.lowering().symbolic()) {
      Shape out = shape;
      out[last] = k;
      const auto some = [&](DType dtype) { return Call::result(b.apply(graph::Fill{out, dtype, 0.0}, {})); };
      return ArgList{some(b.dtype(x)), some(DType::int32)};
    }
    // Selected elements are lowered below every possible value.
    const bool floating = is_floating(b.dtype(x));
    const double below = floating ? -std::numeric_limits<double>::infinity() : -std::ldexp(1.0, 62);
    Expression rest{b, floating ? b.cast(x, DType::float64) : b.cast(x, DType::int64)};
    rest = max(rest, rest.number(floating ? -std::numeric_limits<double>::max() : below + 1024.0));
    const Expression place = counted(b, shape.back(), last, shape.rank());
    std::vector<ValueId> indices;
    for (std::int64_t i = 0; i < k; ++i) {
      const ValueId best = b.apply(graph::Reduce{ReduceFn::argmax, {last}, true}, {rest});
      indices.push_back(best);
      rest = where(place == Expression{b, b.cast(best, DType::int64)}, rest.number(below), rest);
    }
    const ValueId chosen = b.apply(graph::Concat{last}, indices);
    return ArgList{Call::result(taken_along(b, x, b.cast(chosen, DType::int64), last)), Call::result(chosen)};
  }

 private:
  Positive k;
  bool sorted = true;
};

/// Merges some axes of x into one, the last.
ValueId as_rows(Builder& b, ValueId x, const std::vector<int>& axes) {
  const Shape shape = b.shape(x);
  std::vector<int> order;
  Shape rows;
  Dim size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    order.push_back(axis);
    rows.push_back(shape[axis]);
  }
  for (const int axis : axes) {
    order.push_back(axis);
    size = times(size, shape[axis]);
  }
  rows.push_back(size);
  if (size == 0) throw bad_input("an empty tensor has no quantile");
  return b.reshape(b.transpose(x, order), rows);
}

/// Returns the quantile `at` (0 the minimum, 1 the maximum) over some axes, interpolated between the sorted elements.
ValueId at_share(Builder& b, ValueId x, const std::vector<int>& axes, double at, const std::string& method) {
  const ValueId flat = as_rows(b, x, axes);
  const Shape rows = b.shape(flat);
  const int last = rows.rank() - 1;
  const Dim size = rows.back();
  const ValueId sorted = taken_along(b, flat, order_of(b, flat), last);
  const double exact = at * static_cast<double>(size - 1);
  const auto element = [&](double index) {
    const auto i = static_cast<std::int64_t>(index);
    return Expression{b, b.apply(graph::Reshape{rows.slice(0, last)}, {sliced(b, sorted, last, {i, i + 1, 1})})};
  };
  const double lower = std::floor(exact), higher = std::ceil(exact);
  if (method == "lower") return element(lower);
  if (method == "higher") return element(higher);
  if (method == "nearest") return element(std::nearbyint(exact));
  const double share = method == "midpoint" ? 0.5 : higher - exact;
  return lower == higher ? element(lower) : element(higher) * (1.0 - share) + element(lower) * share;
}

/// Returns the quantile `at` (0 the minimum, 1 the maximum) over some axes without NaN; NaN for a row that has only
/// NaN.
ValueId at_share_of_numbers(Builder& b, ValueId x, const std::vector<int>& axes, double at, const std::string& method) {
  const Expression flat{b, as_rows(b, x, axes)};
  const Shape rows = flat.shape();
  const int last = rows.rank() - 1;
  const ValueId sorted = taken_along(b, flat, order_of(b, flat, true), last);
  const Expression numbers = isnan(flat).unary(graph::UnaryFn::logical_not).cast(DType::float64);
  const Expression count = numbers.reduced({ReduceFn::sum, {last}, true});
  const Expression greatest = max(count + -1.0, count.number(0.0)), exact = greatest * at;
  const auto element = [&](const Expression& index) {
    return Expression{b, taken_along(b, sorted, b.cast(index, DType::int64), last)};
  };
  const Expression lower = exact.unary(graph::UnaryFn::floor), higher = exact.unary(graph::UnaryFn::ceil);
  Expression out = element(lower);
  if (method == "higher") out = element(higher);
  if (method == "nearest") out = element(exact.unary(graph::UnaryFn::round));
  if (method == "midpoint") out = (out + element(higher)) * 0.5;
  if (method == "linear") {
    const Expression share = (exact - lower).cast(flat.dtype());
    out = where(share == 0.0, out, element(higher) * share + out * (1.0 - share));
  }
  out = where(count == 0.0, out.number(std::nan("")), out);
  return b.apply(graph::Reshape{rows.slice(0, last)}, {out});
}

/// The median, and the base class of other quantiles.
template <bool kSkipNan = false>
class Median : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("keepdims", keepdims);
  }
  Arg call(Call& call) override { return Call::result(between(call, 0.5, "linear")); }

 protected:
  ValueId between(Call& call, double share, const std::string& method) {
    Builder& b = call.builder();
    const ValueId given = call.tensor("x")->id;
    const ValueId x = b.cast(given, as_floating(b.dtype(given)));
    const Shape shape = b.shape(x);
    const std::vector<int> axes = axes_in(axis, shape);
    const graph::Reduce reduce{ReduceFn::mean, axes, keepdims};
    if (call.lowering().symbolic()) return b.apply(reduce, {x});
    if (!(share >= 0.0 && share <= 1.0)) throw bad_input("expected a quantile from 0 to 1");
    const bool skip = kSkipNan && is_floating(b.dtype(given));
    const ValueId out = skip ? at_share_of_numbers(b, x, axes, share, method) : at_share(b, x, axes, share, method);
    if (!keepdims) return out;
    Shape kept = shape;
    for (const int at : axes) kept[at] = 1;
    return b.reshape(out, kept);
  }

  std::optional<Axes> axis;
  bool keepdims = false;
};

inline constexpr std::array<std::string_view, 2> kXQ = {"x", "q"};

/// quantile, and percentile, whose scale is 0 to 100.
template <int kWhole, bool kSkipNan = false>
class Quantile : public Median<kSkipNan> {
 public:
  void fields(Fields& f) override {
    f("axis", this->axis);
    f("method", method);
    f("keepdims", this->keepdims);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kXQ; }
  Arg call(Call& call) override {
    // Keras's Quantile stores a method, but always interpolates linearly.
    const bool linear = kWhole == 1 && !kSkipNan;
    return Call::result(
        this->between(call, number_argument(call, "q", 0.5) / kWhole, linear ? "linear" : method.value));
  }

 private:
  Choice method{"linear", {"linear", "lower", "higher", "midpoint", "nearest"}};
};

constexpr std::array kSortingOperations = {
    ClassInfo{"Sort", make_layer<Sort<false>>, 300, kNumpyOps},
    ClassInfo{"Argsort", make_layer<Sort<true>>, 300, kNumpyOps},
    ClassInfo{"TopK", make_layer<TopK>, 300, kMathOps},
    ClassInfo{"Median", make_layer<Median<>>, 300, kNumpyOps},
    ClassInfo{"Nanmedian", make_layer<Median<true>>, 314, kNumpyOps},
    ClassInfo{"Quantile", make_layer<Quantile<1>>, 300, kNumpyOps},
    ClassInfo{"Percentile", make_layer<Quantile<100>>, 315, kNumpyOps},
    ClassInfo{"Nanquantile", make_layer<Quantile<1, true>>, 314, kNumpyOps},
    ClassInfo{"Nanpercentile", make_layer<Quantile<100, true>>, 315, kNumpyOps},
};

}  // namespace

Family sorting_operations() { return kSortingOperations; }

}  // namespace attn::keras
