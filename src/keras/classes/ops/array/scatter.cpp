// Writes elements to places that other tensors select, and reduces segments (keras/src/ops/core.py, math.py).
#include <algorithm>

#include "attn/base/size.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/array/number_range.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

/// The maximum number of comparisons, which need 64 MiB. Updates are compared with each other, and rows with updates.
constexpr Dim kMostCompared = Dim{1} << 26;

void expect_comparable(Dim rows, Dim columns, Dim width) {
  const auto cells = checked_mul(rows, columns);
  const auto all = cells ? checked_mul(*cells, std::max<Dim>(width, 1)) : std::nullopt;
  if (!all || *all > kMostCompared)
    throw bad_input("{} updates of {} elements for {} rows are too many to compare; {} comparisons are the most",
                    columns, width, rows, kMostCompared);
}

Expression row_numbers(Builder& b, Dim size, int axis, int rank) {
  Shape shape(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
  shape[axis] = size;
  return {b, b.apply(graph::Iota{shape, DType::int64, axis, 0.0, 1.0}, {})};
}

Dim known_count(const Shape& shape) {
  const auto count = shape.elements();
  if (!count) throw bad_input("the size of {} must be known", shape.str());
  return *count;
}

/// Adds `updates` (M, width) to the rows `places` of a table (rows, width) of zeros.
Expression added(Builder& b, ValueId updates, ValueId places, Dim rows) {
  return {b, b.apply(graph::ScatterAdd{0, rows}, {updates, places})};
}

/// Reduces the updates (M, width) that each of `rows` rows receives; a row without updates becomes `empty`.
Expression reduced_rows(Builder& b, ReduceFn fn, ValueId updates, ValueId places, Dim rows, double empty) {
  const Shape shape = b.shape(updates);
  expect_comparable(rows, shape[0], shape[1]);
  const Expression all{b, b.expand_dims(updates, 0)};                              // (1, M, width)
  const Expression named{b, b.apply(graph::Reshape{{1, shape[0], 1}}, {places})};  // (1, M, 1)
  const Expression mine = named == row_numbers(b, rows, 0, 3);                     // (rows, M, 1)
  return where(mine, all, all.number(empty)).reduced({fn, {1}, false});
}

/// The rows of a table that indices select. An index may select along several leading axes, which are flattened.
struct RowPlaces {
  ValueId rows;  ///< (M), int64: indices into the table with its named axes flattened
  Dim count;     ///< M
  Dim size;      ///< rows of the table
  Dim width;     ///< elements of a row
};

/// Reads indices (M…, depth), which select along the first `depth` axes of `table`. An index that is out of range stays
/// out of range, so that the run rejects it.
RowPlaces places_in(Builder& b, const Operand& indices, const Shape& table) {
  const Shape given = indices.shape();
  if (!is_integer(indices.own_dtype()))
    throw bad_input("indices must be integers, got {}", name_of(indices.own_dtype()));
  if (given.rank() == 0) throw bad_input("indices must have an axis");
  const Dim depth = given.back();
  if (depth < 1 || depth > table.rank())
    throw bad_input("indices of {} numbers each cannot name elements of {}", depth, table.str());
  const int named = static_cast<int>(depth);
  const Shape head = table.slice(0, named);
  const RowPlaces sizes{graph::kNone, known_count(given.slice(0, given.rank() - 1)), known_count(head),
                        known_count(table.slice(named, table.rank()))};

  const Expression flat{b, b.apply(graph::Reshape{{sizes.count, depth}}, {indices.as(DType::int64)})};
  Tensor strides(DType::int64, {depth}), bounds(DType::int64, {depth});
  Dim stride = 1;
  for (int axis = named - 1; axis >= 0; --axis) {
    strides.set(axis, static_cast<double>(stride));
    bounds.set(axis, static_cast<double>(table[axis]));
    stride *= std::max<Dim>(table[axis], 1);
  }
  const Expression place = (flat * Expression{b, b.constant(strides)}).reduced({ReduceFn::sum, {1}, false});
  const Expression valid = (flat.number(-1.0) < flat) & (flat < Expression{b, b.constant(bounds)});
  const Expression inside = valid.reduced({ReduceFn::all, {1}, false});
  RowPlaces out = sizes;
  out.rows = where(inside, place, place.number(static_cast<double>(sizes.size)));
  return out;
}

/// Returns the updates as rows (M, width); bool becomes int32, so that updates can be added.
Expression update_rows(Builder& b, ValueId updates, const RowPlaces& places) {
  if (b.dtype(updates) == DType::boolean) updates = b.cast(updates, DType::int32);
  const auto needed = checked_mul(places.count, places.width);
  if (!needed || b.shape(updates).elements() != needed)
    throw bad_input("updates {} do not fit {} places of {} elements", b.shape(updates).str(), places.count,
                    places.width);
  return {b, b.apply(graph::Reshape{{places.count, places.width}}, {updates})};
}

inline constexpr std::array<std::string_view, 3> kScatterArguments = {"indices", "values", "shape"};

/// Returns zeros of `shape`, plus every value at the place that its index selects.
class Scatter : public WithArguments<kScatterArguments> {
 public:
  void fields(Fields& f) override { f("shape", shape, 311); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand values(call, "values");
    const Shape table = table_of(call);
    if (call.lowering().symbolic()) return Call::result(b.apply(graph::Fill{table, values.own_dtype(), 0.0}, {}));
    const RowPlaces places = places_in(b, Operand(call, "indices"), table);
    const Expression sum = added(b, update_rows(b, values.value(), places), places.rows, places.size);
    return Call::result(b.reshape(sum.cast(values.own_dtype()), table));
  }

 private:
  /// Files of Keras before 3.11 have the shape as an argument of the call.
  Shape table_of(Call& call) {
    if (shape) return *shape;
    const auto* list = call.has("shape") ? call.arg("shape").as<ArgList>() : nullptr;
    if (list == nullptr) throw bad_input("scatter needs a shape");
    Shape out;
    for (const Arg& item : *list) {
      if (!item.as<std::int64_t>()) throw bad_input("the shape of scatter must be integers");
      out.push_back(*item.as<std::int64_t>());
    }
    return out;
  }
  std::optional<Shape> shape;
};

inline constexpr std::array<std::string_view, 3> kScatterUpdateArguments = {"inputs", "indices", "updates"};

/// Returns the inputs with the selected elements replaced by the updates, or reduced together with the updates.
class ScatterUpdate : public WithArguments<kScatterUpdateArguments> {
 public:
  void fields(Fields& f) override { f("reduction", reduction, 314); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand inputs(call, "inputs");
    const Shape shape = inputs.shape();
    const DType dtype = inputs.own_dtype();
    if (reduction && *reduction != "add" && *reduction != "max" && *reduction != "min" && *reduction != "mul")
      throw bad_input("the reduction '{}' is unknown; expected add, max, min or mul", *reduction);
    if (call.lowering().symbolic()) return Call::result(b.apply(graph::Fill{shape, dtype, 0.0}, {}));
    const RowPlaces places = places_in(b, Operand(call, "indices"), shape);
    const Expression updates = update_rows(b, Operand(call, "updates").as(dtype), places);
    const Expression table{b, b.reshape(b.cast(inputs.value(), updates.dtype()), {places.size, places.width})};
    return Call::result(b.reshape(updated(b, table, updates, places).cast(dtype), shape));
  }

 private:
  [[nodiscard]] Expression updated(Builder& b, const Expression& table, const Expression& updates,
                                   const RowPlaces& places) const {
    if (!reduction) return replaced(b, table, updates, places);
    if (*reduction == "add") return table + added(b, updates, places.rows, places.size);
    const auto reduce = [&](ReduceFn fn, double empty) {
      return reduced_rows(b, fn, updates, places.rows, places.size, empty);
    };
    if (*reduction == "mul") return table * reduce(ReduceFn::prod, 1.0);
    const auto [least, greatest] = number_range(table.dtype());
    const bool floating = is_floating(table.dtype());
    return *reduction == "max" ? max(table, reduce(ReduceFn::max, floating ? -kInfinity : least))
                               : min(table, reduce(ReduceFn::min, floating ? kInfinity : greatest));
  }
  /// If several updates select a place, the last one counts, because TensorFlow applies them in order.
  static Expression replaced(Builder& b, const Expression& table, const Expression& updates, const RowPlaces& places) {
    expect_comparable(places.count, places.count, 1);
    const Expression own{b, b.expand_dims(places.rows, 1)}, other{b, b.expand_dims(places.rows, 0)};
    const Expression later = row_numbers(b, places.count, 0, 2) < row_numbers(b, places.count, 1, 2);
    const Expression beaten = ((own == other) & later).reduced({ReduceFn::any, {1}, true});  // (M, 1)
    const Expression kept = where(beaten, updates.number(0.0), updates);
    const Expression one{b, b.apply(graph::Fill{{places.count, 1}, DType::int32, 1.0}, {})};
    const Expression hit = added(b, one, places.rows, places.size).cast(DType::boolean);
    return where(hit, added(b, kept, places.rows, places.size), table);
  }
  std::optional<std::string> reduction;
};

inline constexpr std::array<std::string_view, 2> kSegmentArguments = {"data", "segment_ids"};

/// Reduces the rows of data that belong to the same segment. A row with a negative id is in no segment.
template <ReduceFn kFn>
class Segment : public WithArguments<kSegmentArguments> {
 public:
  void fields(Fields& f) override {
    f("num_segments", num_segments, 312);
    f("sorted", sorted, 312);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand data(call, "data"), ids(call, "segment_ids");
    const Shape shape = data.shape();
    if (shape.rank() == 0 || ids.rank() != 1)
      throw bad_input("segment ids {} do not fit data {}", ids.shape().str(), shape.str());
    if (!num_segments)
      throw bad_input("without num_segments the size of the result depends on numbers that only a run knows; give it");
    const DType dtype = data.own_dtype();
    Shape out = shape;
    out[0] = *num_segments;
    if (call.lowering().symbolic()) return Call::result(b.apply(graph::Fill{out, dtype, 0.0}, {}));
    if (ids.shape()[0] != shape[0])
      throw bad_input("segment ids {} do not fit data {}", ids.shape().str(), shape.str());
    const Dim width = known_count(shape.slice(1, shape.rank())), rows = *num_segments;
    const Expression flat{b, b.apply(graph::Reshape{{shape[0], width}}, {data.value()})};
    const Expression id{b, ids.as(DType::int64)};
    return Call::result(b.reshape(reduced(b, flat, id, rows), out));
  }

 private:
  static Expression reduced(Builder& b, const Expression& data, const Expression& id, Dim rows) {
    // Row 0 collects the rows without a segment, and is removed afterwards. An id that is too large is rejected by the
    // operation.
    const Expression place = where(id < 0.0, id.number(0.0), id + 1.0);
    const auto sums = [&](const Expression& x) {
      return Expression{b, sliced(b, added(b, x, place, rows + 1), 0, {1, rows + 1, 1})};
    };
    if constexpr (kFn == ReduceFn::sum) return sums(data);
    const bool floating = is_floating(data.dtype());
    double empty = 1.0, neutral = 1.0;
    if constexpr (kFn == ReduceFn::max) {
      empty = number_range(data.dtype()).first;
      neutral = floating ? -kInfinity : empty;
    }
    if constexpr (kFn == ReduceFn::min) {
      empty = number_range(data.dtype()).second;
      neutral = floating ? kInfinity : empty;
    }
    const Expression best = reduced_rows(b, kFn, data, id, rows, neutral);
    // Only an empty segment becomes the limit of the dtype; a segment of infinities stays infinite.
    const Expression one{b, b.apply(graph::Fill{{data.shape()[0], 1}, DType::int32, 1.0}, {})};
    return where(sums(one).cast(DType::boolean), best, best.number(empty));
  }

  std::optional<Positive> num_segments;
  bool sorted = false;
};

constexpr std::array kScatterOperations = {
    ClassInfo{"Scatter", make_layer<Scatter>, 300, kCoreOps},
    ClassInfo{"ScatterUpdate", make_layer<ScatterUpdate>, 300, kCoreOps},
    unnamed_before_311("SegmentSum", make_layer<Segment<ReduceFn::sum>>, 300, kMathOps),
    unnamed_before_311("SegmentMax", make_layer<Segment<ReduceFn::max>>, 300, kMathOps),
    ClassInfo{"SegmentMin", make_layer<Segment<ReduceFn::min>>, 315, kMathOps},
    ClassInfo{"SegmentProd", make_layer<Segment<ReduceFn::prod>>, 315, kMathOps},
};

}  // namespace

Family scatter_operations() { return kScatterOperations; }

}  // namespace attn::keras
