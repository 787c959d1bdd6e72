#include "families/blocks/images/patch_places.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;

Expression quotient(const Expression& x, const Expression& y) { return x.binary(BinaryFn::floor_divide, y); }
Expression quotient(const Expression& x, Dim y) { return quotient(x, x.number(static_cast<double>(y))); }
Expression remainder(const Expression& x, const Expression& y) { return x.binary(BinaryFn::mod, y); }
Expression remainder(const Expression& x, Dim y) { return remainder(x, x.number(static_cast<double>(y))); }
/// Returns x, or 1 if it is less. The grids of an invalid run may be 0, by which no integer can be divided.
Expression positive(const Expression& x) { return max(x, x.number(1.0)); }

Expression column_of(const Expression& x, Dim i) {
  graph::Slice slice;
  slice.ranges = {{}, {i, i + 1, 1}};
  return {*x.builder, x.builder->apply(slice, {x})};
}

/// Returns the sums (I,1) of the rows before each row.
Expression before(const Expression& x) {
  return {*x.builder, x.builder->apply(graph::Cumulate{.axis = 0, .exclusive = true}, {x})};
}

}  // namespace

PatchPlaces patch_places(graph::Builder& b, graph::ValueId grids, Dim patches, Dim merge) {
  const Dim images = b.shape(grids)[0], square = merge * merge;
  const Expression all(b, grids), frames = column_of(all, 0), rows = column_of(all, 1), columns = column_of(all, 2);
  const Expression counts = frames * rows * columns, starts = before(counts), ends = starts + counts;

  // The image of each patch: the number of images that end before it.
  const Expression numbers(b, b.apply(graph::Iota{{patches, 1}, DType::int32, 0}, {}));
  const Expression ends_before = Expression(b, b.transpose(ends, {1, 0})) <= numbers;  // (P,I)
  const Expression image = ends_before.cast(DType::int32).reduced({graph::ReduceFn::sum, {1}});
  const Expression total = counts.reduced({graph::ReduceFn::sum, {0, 1}});
  const Expression rests = (remainder(rows, merge) + remainder(columns, merge)).reduced({graph::ReduceFn::max, {0, 1}});
  const Expression least = all.reduced({graph::ReduceFn::min, {0, 1}});
  const Expression wrong =
      abs(total - total.number(static_cast<double>(patches))) + rests + max(-least, least.number(0.0));
  const Expression checked = image + (wrong > 0.0).cast(DType::int32) * static_cast<double>(images);

  const graph::ValueId facts = b.apply(graph::Concat{1}, {rows, columns, starts, before(frames)});
  const Expression own(b, b.apply(graph::Gather{0}, {facts, checked}));  // (P,4)
  const Expression own_rows = column_of(own, 0), own_columns = column_of(own, 1);
  const Expression place = numbers - column_of(own, 2), size = positive(own_rows * own_columns);
  const Expression in_frame = remainder(place, size);
  const Expression squares = positive(quotient(own_columns, merge));  // in a row
  const Expression at = quotient(in_frame, square), inside = remainder(in_frame, square);
  const auto joined = [&](const Expression& of_square, const Expression& of_patch) {
    return of_square * static_cast<double>(merge) + of_patch;
  };
  return {joined(quotient(at, squares), quotient(inside, merge)),
          joined(remainder(at, squares), remainder(inside, merge)), own_rows, own_columns,
          column_of(own, 3) + quotient(place, size)};
}

}  // namespace attn::keras
