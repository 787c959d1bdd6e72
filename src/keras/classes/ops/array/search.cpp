// Positions of numbers among others: in sorted rows, in bins, among the greatest (keras/src/ops/numpy.py, math.py).
#include <algorithm>

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

/// A comparison of each element x with all numbers of a row; the numbers that satisfy it are counted.
using Comparison = Expression (*)(const Expression& number, const Expression& x);
Expression count_where(Builder& b, ValueId row, ValueId x, Comparison holds) {
  const Expression each{b, b.expand_dims(x, -1)};
  const Expression found = holds({b, row}, each);
  return found.cast(DType::int32).reduced({ReduceFn::sum, {found.shape().rank() - 1}, false});
}
Expression is_less(const Expression& number, const Expression& x) { return number < x; }
Expression is_not_greater(const Expression& number, const Expression& x) { return number <= x; }
Expression is_greater(const Expression& number, const Expression& x) { return x < number; }

inline constexpr std::array<std::string_view, 3> kSearchArguments = {"sorted_sequence", "values", "side"};

class SearchSorted : public WithArguments<kSearchArguments> {
 public:
  void fields(Fields& f) override { f("side", side, 312); }
  Arg call(Call& call) override {
    const Operand sorted(call, "sorted_sequence"), values(call, "values");
    if (sorted.rank() != 1) throw bad_input("sorted_sequence must have one axis, got {}", sorted.shape().str());
    const auto* given = call.has("side") ? call.arg("side").as<std::string>() : nullptr;
    const std::string& from = given != nullptr ? *given : side.value;
    if (from != "left" && from != "right") throw bad_input("side must be left or right, got '{}'", from);
    const DType dtype = result_type({sorted.type(), values.type()});
    Builder& b = call.builder();
    return Call::result(count_where(b, sorted.as(dtype), values.as(dtype), from == "left" ? is_less : is_not_greater));
  }

 private:
  Choice side{"left", {"left", "right"}};
};

inline constexpr std::array<std::string_view, 2> kBinArguments = {"x", "bins"};

/// The bin of each number; NaN is after the last bin.
class Digitize : public WithArguments<kBinArguments> {
 public:
  Arg call(Call& call) override {
    const Operand x(call, "x"), bins(call, "bins");
    if (bins.rank() != 1) throw bad_input("bins must have one axis, got {}", bins.shape().str());
    const bool wide = x.own_dtype() == DType::float64 || bins.own_dtype() == DType::float64;
    const DType dtype = wide || is_integer(x.own_dtype()) ? DType::float64 : DType::float32;
    Builder& b = call.builder();
    const Expression above = count_where(b, bins.as(dtype), x.as(dtype), is_greater);
    const Expression all = above.number(static_cast<double>(std::max<Dim>(bins.shape()[0], 0)));
    return Call::result(all - above);
  }
};

inline constexpr std::array<std::string_view, 2> kTopArguments = {"targets", "predictions"};

/// Whether the prediction of the target is among the k greatest of its row. A row with a number that is not finite has
/// no order.
class InTopK : public WithArguments<kTopArguments> {
 public:
  void fields(Fields& f) override { f.required("k", k); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand targets(call, "targets"), predictions(call, "predictions");
    if (targets.rank() != 1 || predictions.rank() != 2)
      throw bad_input("targets {} do not fit predictions {}", targets.shape().str(), predictions.shape().str());
    const Expression row{b, predictions.value()};
    const Dim classes = row.shape()[1];
    const Expression target{b, b.expand_dims(targets.as(DType::int64), 1)};
    const Expression index{b, b.apply(graph::Iota{{1, classes}, DType::int64, 1, 0.0, 1.0}, {})};
    const auto over = [](ReduceFn fn, bool keepdims) { return graph::Reduce{fn, {1}, keepdims}; };
    const Expression own = target == index;
    const Expression chosen = where(own, row, row.number(0.0)).reduced(over(ReduceFn::sum, true));
    const Expression greater = (chosen < row).cast(DType::int64).reduced(over(ReduceFn::sum, false));
    const Expression ordered = row.unary(UnaryFn::isfinite).reduced(over(ReduceFn::all, false));
    return Call::result((greater < static_cast<double>(k.value)) & ordered & own.reduced(over(ReduceFn::any, false)));
  }

 private:
  Positive k;
};

inline constexpr std::array<std::string_view, 1> kIndices = {"indices"};

/// Converts flat indices to one index for each axis of a shape.
class UnravelIndex : public WithArguments<kIndices> {
 public:
  void fields(Fields& f) override { f.required("shape", shape); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand given(call, "indices");
    if (!is_integer(given.own_dtype())) throw bad_input("indices must be integers, got {}", name_of(given.own_dtype()));
    if (!shape.known()) throw bad_input("the shape {} must be known", shape.str());
    Expression rest{b, given.value()};
    // Keras divides by the sizes from the last axis on if the indices have one axis, and from the first axis on
    // otherwise (keras/src/backend/tensorflow/numpy.py).
    const bool from_last = given.rank() == 1;
    ArgList out;
    for (int i = 0; i < shape.rank(); ++i) {
      const Expression size = rest.number(static_cast<double>(shape[from_last ? shape.rank() - 1 - i : i]));
      out.insert(out.begin(), Call::result(rest.binary(graph::BinaryFn::mod, size)));
      rest = rest.binary(graph::BinaryFn::floor_divide, size);
    }
    return out;
  }

 private:
  Shape shape;
};

constexpr std::array kSearchOperations = {
    ClassInfo{"SearchSorted", make_layer<SearchSorted>, 305, kNumpyOps},
    ClassInfo{"Digitize", make_layer<Digitize>, 300, kNumpyOps},
    ClassInfo{"InTopK", make_layer<InTopK>, 300, kMathOps},
    ClassInfo{.name = "UnravelIndex",
              .make = make_layer<UnravelIndex>,
              .since = 308,
              .module = kNumpyOps,
              .named_until = 310},
};

}  // namespace

Family search_operations() { return kSearchOperations; }

}  // namespace attn::keras
