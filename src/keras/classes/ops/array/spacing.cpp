// Evenly spaced numbers, powers of numbers, and areas below points (keras/src/ops/numpy.py).
#include <array>
#include <cmath>
#include <numbers>

#include "classes/layers/numbers.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

inline constexpr std::array<std::string_view, 2> kStartStop = {"start", "stop"};

/// `num` numbers from start to stop on a new axis.
class Linspace : public WithArguments<kStartStop> {
 public:
  void fields(Fields& f) override {
    f("num", num, 312);
    f("endpoint", endpoint, 312);
    f("retstep", retstep, 312);
    if (f.reading() && retstep) f.config()["retstep"].fail("a step as a second result is not supported");
    f("dtype", dtype, 312);
    f("axis", axis, 312);
  }
  Arg call(Call& call) override {
    const Operand start(call, "start"), stop(call, "stop");
    const DType own = result_type({start.type(), stop.type(), kPythonFloat});
    const DType result = dtype.value_or(own), exact = is_floating(result) ? result : own;
    Builder& b = call.builder();
    const Expression out = spaced({b, start.as(exact)}, {b, stop.as(exact)});
    return Call::result((is_floating(result) ? out : out.unary(UnaryFn::floor)).cast(result));
  }

 protected:
  [[nodiscard]] Expression spaced(const Expression& start, const Expression& stop) const {
    Builder& b = *start.builder;
    const auto shape = broadcast(start.shape(), stop.shape());
    if (!shape) throw bad_input("start {} and stop {} do not fit", start.shape().str(), stop.shape().str());
    const int rank = shape->rank() + 1;
    if (axis < -rank || axis >= rank) throw bad_input("axis {} is not one of {}", axis, rank);
    const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
    const auto wide = [&](const Expression& x) {
      return Expression{b, b.expand_dims(b.apply(graph::Broadcast{*shape}, {x}), at)};
    };
    const Expression first = wide(start);
    Expression last = wide(stop);
    const auto count = static_cast<double>(num);
    if (!endpoint && num > 1) last = last - (last - first) / count;
    Shape along(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
    along[at] = num;
    const Expression steps{b, b.apply(graph::Iota{along, first.dtype(), at, 0.0, 1.0}, {})};
    const double intervals = std::max(count - 1.0, 1.0);
    const Expression between = first + (last - first) / intervals * steps;
    return num > 1 ? where(steps == intervals, last, between) : between;
  }
  void endpoint_fields(Fields& f, Version since) {
    f("num", num, since);
    f("endpoint", endpoint, since);
  }
  void dtype_fields(Fields& f, Version since) {
    f("dtype", dtype, since);
    f("axis", axis, since);
  }

  std::int64_t num = 50, axis = 0;
  bool endpoint = true, retstep = false;
  std::optional<DType> dtype;
};

class Logspace : public Linspace {
 public:
  void fields(Fields& f) override {
    endpoint_fields(f, 312);
    f("base", base, 312);
    dtype_fields(f, 312);
  }
  Arg call(Call& call) override {
    const Operand start(call, "start"), stop(call, "stop");
    const DType own = dtype.value_or(result_type({start.type(), stop.type(), kPythonFloat}));
    if (!is_floating(own)) throw bad_input("logspace of {} is not supported", name_of(own));
    Builder& b = call.builder();
    const Expression exponents = spaced({b, start.as(own)}, {b, stop.as(own)});
    return Call::result(pow(exponents.number(base), exponents));
  }

 private:
  Number base = 10;
};

/// Numbers with a constant ratio, and the sign of the first.
class Geomspace : public Linspace {
 public:
  void fields(Fields& f) override {
    endpoint_fields(f, 314);
    dtype_fields(f, 314);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const DType own = dtype.value_or(DType::float32);
    if (!is_floating(own)) throw bad_input("geomspace of {} is not supported", name_of(own));
    const auto logarithm = [&](std::string_view of) {
      return abs(Expression{b, Operand(call, of).as(own)}).unary(UnaryFn::log) / std::numbers::ln10;
    };
    const Expression exponents = spaced(logarithm("start"), logarithm("stop"));
    const Expression start{b, Operand(call, "start").as(own)};
    return Call::result(pow(exponents.number(10.0), exponents) * start.unary(UnaryFn::sign));
  }
};

/// x to the powers 0 to N − 1 on a new last axis, with the greatest power first.
class Vander : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("N", count);
    f("increasing", increasing);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand x(call, "x");
    if (x.rank() == 0 && !count) throw bad_input("vander of a scalar needs N");
    const Dim powers = count.value_or(x.rank() > 0 ? x.shape()[0] : 0);
    const DType exact = as_precise(x.own_dtype());
    const Expression base{b, b.expand_dims(x.as(exact), -1)};
    const double first = increasing ? 0.0 : static_cast<double>(powers) - 1.0;
    Shape along(std::vector<Dim>(static_cast<std::size_t>(base.shape().rank()), 1));
    along[-1] = powers;
    const int last = along.rank() - 1;
    const Expression exponents{b, b.apply(graph::Iota{along, exact, last, first, increasing ? 1.0 : -1.0}, {})};
    return Call::result(pow(base, exponents).cast(x.own_dtype()));
  }

 private:
  std::optional<std::int64_t> count;
  bool increasing = false;
};

inline constexpr std::array<std::string_view, 1> kY = {"y"};

/// The area below y by the trapezoidal rule. The points are at `x`, or `dx` apart.
class Trapezoid : public WithArguments<kY> {
 public:
  void fields(Fields& f) override {
    if (f.reading()) {
      if (const auto given = f.take("x"); given && !given->is_null()) points.emplace().read(*given);
    } else {
      f.put("x", points ? points->json : Json());
    }
    f("dx", dx);
    f("axis", axis);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand given(call, "y");
    const Expression y{b, given.as(as_floating(given.own_dtype()))};
    const int at = axis_in(axis, y.shape());
    const auto part = [&](const Expression& of, int along, graph::Range range) {
      return Expression{b, sliced(b, of, along, range)};
    };
    const Expression heights = (part(y, at, {1, {}, 1}) + part(y, at, {{}, -1, 1})) * 0.5;
    if (!points) return Call::result(summed(heights * dx, at));
    const Expression x{b, points->constant(b, y.dtype(), points->shape)};
    const int own = axis_in(axis, x.shape());
    Expression widths = part(x, own, {1, {}, 1}) - part(x, own, {{}, -1, 1});
    Shape along(std::vector<Dim>(static_cast<std::size_t>(y.shape().rank() - at), 1));
    along[0] = widths.shape()[own];
    if (x.shape().rank() == 1) widths = {b, b.reshape(widths, along)};
    return Call::result(summed(heights * widths, at));
  }

 private:
  static Expression summed(const Expression& x, int at) { return x.reduced({ReduceFn::sum, {at}, false}); }
  std::optional<Numbers> points;
  Number dx = 1.0;
  std::int64_t axis = -1;
};

constexpr std::array kSpacingOperations = {
    unnamed_before_311("Linspace", make_layer<Linspace>, 300, kNumpyOps),
    unnamed_before_311("Logspace", make_layer<Logspace>, 300, kNumpyOps),
    ClassInfo{"Geomspace", make_layer<Geomspace>, 314, kNumpyOps},
    ClassInfo{"Vander", make_layer<Vander>, 313, kNumpyOps},
    ClassInfo{"Trapezoid", make_layer<Trapezoid>, 312, kNumpyOps},
};

}  // namespace

Family spacing_operations() { return kSpacingOperations; }

}  // namespace attn::keras
