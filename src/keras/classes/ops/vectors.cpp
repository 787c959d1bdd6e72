// Cross products, distances and correlations of vectors (keras/src/ops/numpy.py, math.py).
#include <algorithm>
#include <array>

#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

/// The cross product of vectors with three numbers; a vector with two numbers has 0 as its third.
class Cross : public WithArguments<kX1X2> {
 public:
  void fields(Fields& f) override {
    f("axisa", axisa, 312);
    f("axisb", axisb, 312);
    f("axisc", axisc, 312);
    f("axis", axis, 312);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.own_dtype(), x2.own_dtype()});
    const Parts p = parts_of(b, x1.as(dtype), axis.value_or(axisa)),
                q = parts_of(b, x2.as(dtype), axis.value_or(axisb));
    const auto component = [&](std::size_t i, std::size_t j) { return p.part[i] * q.part[j] - p.part[j] * q.part[i]; };
    const Expression z = component(0, 1);
    if (p.size == 2 && q.size == 2)
      return Call::result(b.apply(graph::Reshape{z.shape().slice(0, z.shape().rank() - 1)}, {z}));
    const int last = z.shape().rank() - 1;
    const ValueId out = b.apply(graph::Concat{last}, {component(1, 2), component(2, 0), z});
    return Call::result(moved(b, out, std::array{last}, std::array{axis_in(axis.value_or(axisc), b.shape(out))}));
  }

 private:
  struct Parts {
    std::vector<Expression> part;  // (…, 1) each
    Dim size;
  };
  static Parts parts_of(Builder& b, ValueId x, std::int64_t axis) {
    const int at = axis_in(axis, b.shape(x)), last = b.shape(x).rank() - 1;
    x = moved(b, x, std::array{at}, std::array{last});
    const Dim size = b.shape(x).back();
    if (size != 2 && size != 3) throw bad_input("a cross product takes vectors of 2 or 3 numbers, got {}", size);
    Parts out{{}, size};
    for (Dim i = 0; i < size; ++i) out.part.emplace_back(b, sliced(b, x, last, {i, i + 1, 1}));
    if (size == 2) out.part.push_back(out.part.front().number(0.0));
    return out;
  }
  std::int64_t axisa = -1, axisb = -1, axisc = -1;
  std::optional<std::int64_t> axis;
};

inline constexpr std::array<std::string_view, 2> kDistanceArguments = {"x", "y"};

/// The distance of each row of x to each row of y.
class CDist : public WithArguments<kDistanceArguments> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand x(call, "x"), y(call, "y");
    if (x.rank() < 2 || y.rank() < 2)
      throw bad_input("distances need 2 axes, got {} and {}", x.shape().str(), y.shape().str());
    const DType dtype = result_type({x.own_dtype(), y.own_dtype(), kPythonFloat});
    const Expression rows{b, b.expand_dims(x.as(dtype), -2)}, columns{b, b.expand_dims(y.as(dtype), -3)};
    const Expression squares = square(rows - columns);
    return Call::result(sqrt(squares.reduced({ReduceFn::sum, {squares.shape().rank() - 1}, false})));
  }
};

/// The correlation of each row with every other row.
class Corrcoef : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand given(call, "x");
    if (given.rank() != 2) throw bad_input("correlations of rows need 2 axes, got {}", given.shape().str());
    const DType dtype = as_wide_floating(given.own_dtype());
    // Keras's symbolic result has the shape of x.
    if (call.lowering().symbolic()) return Call::result(given.as(dtype));
    const Expression x{b, given.as(dtype)};
    const Expression centered = x - x.reduced({ReduceFn::mean, {1}, true});
    const Expression products{b, b.apply(graph::MatMul{false, true}, {centered, centered})};
    const Expression covariance = products / (static_cast<double>(x.shape()[1]) - 1.0);
    const Dim count = x.shape()[0];
    const Expression own =
        sqrt(square(centered).reduced({ReduceFn::sum, {1}, false}) / (static_cast<double>(x.shape()[1]) - 1.0));
    const Expression down{b, b.reshape(own, {count, 1})}, across{b, b.reshape(own, {1, count})};
    return Call::result(b.unary(graph::UnaryFn::clip, covariance / (down * across), -1.0, 1.0));
  }
};

/// Slides x2 over x1, and sums the products at each position.
class Correlate : public WithArguments<kX1X2> {
 public:
  void fields(Fields& f) override { f("mode", mode, 312); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand x1(call, "x1"), x2(call, "x2");
    if (x1.rank() != 1 || x2.rank() != 1 || !x1.shape().known() || !x2.shape().known())
      throw bad_input("a correlation takes two rows of known size, got {} and {}", x1.shape().str(), x2.shape().str());
    const DType met = result_type({x1.own_dtype(), x2.own_dtype()});
    const DType dtype = met == DType::int64 ? DType::float64 : is_floating(met) ? met : DType::float32;
    const Dim n = x1.shape()[0], m = x2.shape()[0];
    if (n < 1 || m < 1 || (mode.value == "valid" && n < m))
      throw bad_input("{} numbers cannot slide over {} in the mode {}", m, n, mode.value);
    ValueId x = x1.as(dtype);
    if (mode.value != "valid") x = b.apply(graph::Pad{graph::PadMode::constant, {m - 1}, {m - 1}, 0.0}, {x});
    x = b.reshape(x, {1, b.shape(x)[0], 1});
    const graph::Conv slide{{1}, {1}, graph::Padding::valid, 1, false, {}};
    ValueId out = b.reshape(b.apply(slide, {x, b.reshape(x2.as(dtype), {m, 1, 1})}), {kUnknown});
    if (mode.value == "same") {
      const Dim size = std::max(n, m), start = (n + m - 1 - size) / 2;
      out = sliced(b, out, 0, {start, start + size, 1});
    }
    return Call::result(out);
  }

 private:
  Choice mode{"valid", {"valid", "same", "full"}};
};

constexpr std::array kVectorOperations = {
    unnamed_before_311("Cross", make_layer<Cross>, 300, kNumpyOps),
    ClassInfo{"CDist", make_layer<CDist>, 315, kMathOps},
    ClassInfo{"Corrcoef", make_layer<Corrcoef>, 311, kNumpyOps},
    unnamed_before_311("Correlate", make_layer<Correlate>, 302, kNumpyOps),
};

}  // namespace

Family vector_operations() { return kVectorOperations; }

}  // namespace attn::keras
