// Operations that move elements without changing them: shapes, axes, order, padding.
#include "layout.h"

#include <algorithm>
#include <numeric>

#include "attn/base/size.h"
#include "attn/base/text.h"
#include "expression.h"
#include "operand.h"
#include "ops.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

graph::Slice whole(int rank) { return {std::vector<graph::Range>(static_cast<std::size_t>(rank))}; }

ValueId sliced(Builder& b, ValueId x, int axis, graph::Range range) {
  graph::Slice slice = whole(b.shape(x).rank());
  slice.ranges[static_cast<std::size_t>(axis)] = range;
  return b.apply(slice, {x});
}

ValueId moved(Builder& b, ValueId x, std::span<const int> from, std::span<const int> to) {
  std::vector<int> order;
  for (int axis = 0; axis < b.shape(x).rank(); ++axis)
    if (std::find(from.begin(), from.end(), axis) == from.end()) order.push_back(axis);
  std::vector<std::pair<int, int>> moves;
  for (std::size_t i = 0; i < from.size(); ++i) moves.emplace_back(to[i], from[i]);
  std::sort(moves.begin(), moves.end());
  for (const auto& [at, axis] : moves) order.insert(order.begin() + at, axis);
  return b.transpose(x, order);
}

Dim times(Dim dim, std::int64_t factor) {
  if (dim == kUnknown) return kUnknown;
  const auto product = checked_mul(dim, factor);
  if (!product) throw bad_input("{} elements repeated {} times are too many", dim, factor);
  return *product;
}

ValueId repeated(Builder& b, ValueId x, int axis, std::int64_t count) {
  const Shape shape = b.shape(x);
  Shape column = shape.slice(0, axis + 1), wide = column, joined = shape;
  column.push_back(1);
  wide.push_back(count);
  column.append(shape.slice(axis + 1, shape.rank()));
  wide.append(shape.slice(axis + 1, shape.rank()));
  joined[axis] = times(shape[axis], count);
  return b.reshape(b.apply(graph::Broadcast{wide}, {b.apply(graph::Reshape{column}, {x})}), joined);
}

namespace {

std::vector<std::int64_t> integers_of(const Json& json, std::string_view what) {
  std::vector<std::int64_t> out;
  if (json.is_number_integer()) return {json.get<std::int64_t>()};
  if (!json.is_array()) throw bad_input("{} must be an integer or a list of integers", what);
  for (const Json& item : json) {
    if (!item.is_number_integer()) throw bad_input("{} must hold integers", what);
    out.push_back(item.get<std::int64_t>());
  }
  return out;
}

// ---- shapes

/// A shape in which one dimension may be open: −1, or None for what Keras did not know.
class Reshape : public Taking<kX> {
 public:
  void fields(Fields& f) override {
    if (!f.reading()) {
      f.put("newshape", newshape);
      return;
    }
    const auto ref = f.take("newshape");
    if (!ref) f.config().fail("the key 'newshape' is missing");
    ref->expect_array();
    for (const Ref& dim : ref->elements()) {
      const bool open = dim.is_null() || dim.json() == -1;
      shape.push_back(open ? kUnknown : dim.integer_from(0));
    }
    newshape = ref->json();
  }
  Arg call(Call& call) override {
    return Call::result(call.builder().apply(graph::Reshape{shape}, {call.tensor("x")->id}));
  }

 private:
  Json newshape = Json::array();
  Shape shape;
};

class Ravel : public Taking<kX> {
 public:
  Arg call(Call& call) override { return Call::result(call.builder().reshape(call.tensor("x")->id, {kUnknown})); }
};

class ExpandDims : public Taking<kX> {
 public:
  void fields(Fields& f) override { f.required("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    const int rank = shape.rank() + static_cast<int>(as_list(axis).size());
    Shape expanded(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
    const std::vector<int> added = axes_in(axis, expanded);
    int next = 0;
    for (int at = 0; at < rank; ++at)
      if (!std::binary_search(added.begin(), added.end(), at)) expanded[at] = shape[next++];
    return Call::result(b.apply(graph::Reshape{expanded}, {x}));
  }

 private:
  Axes axis = std::int64_t{0};
};

class Squeeze : public Taking<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    std::vector<int> gone;
    if (axis) gone = axes_in(axis, shape);
    Shape squeezed;
    for (int at = 0; at < shape.rank(); ++at) {
      const bool named = std::binary_search(gone.begin(), gone.end(), at);
      if (named && shape[at] != 1) throw bad_input("axis {} of {} cannot be squeezed: it is not 1", at, shape.str());
      if (!named && (axis || shape[at] != 1)) squeezed.push_back(shape[at]);
    }
    return Call::result(b.apply(graph::Reshape{squeezed}, {x}));
  }

 private:
  std::optional<Axes> axis;
};

class BroadcastTo : public Taking<kX> {
 public:
  void fields(Fields& f) override { f.required("shape", shape); }
  Arg call(Call& call) override {
    return Call::result(call.builder().apply(graph::Broadcast{shape}, {call.tensor("x")->id}));
  }

 private:
  Shape shape;
};

// ---- axes

class Transpose : public Taking<kX> {
 public:
  void fields(Fields& f) override { f("axes", axes); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    std::vector<int> order(static_cast<std::size_t>(b.shape(x).rank()));
    std::iota(order.rbegin(), order.rend(), 0);
    if (axes) {
      order.clear();
      for (const std::int64_t axis : as_list(*axes)) order.push_back(axis_in(axis, b.shape(x)));
    }
    return Call::result(b.transpose(x, order));
  }

 private:
  std::optional<Axes> axes;
};

class Swapaxes : public Taking<kX> {
 public:
  void fields(Fields& f) override {
    f.required("axis1", axis1);
    f.required("axis2", axis2);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    std::vector<int> order(static_cast<std::size_t>(b.shape(x).rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<std::size_t>(axis_in(axis1, b.shape(x)))],
              order[static_cast<std::size_t>(axis_in(axis2, b.shape(x)))]);
    return Call::result(b.transpose(x, order));
  }

 private:
  std::int64_t axis1 = 0, axis2 = 0;
};

class Moveaxis : public Taking<kX> {
 public:
  void fields(Fields& f) override {
    f.required("source", source);
    f.required("destination", destination);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    std::vector<int> from, to;
    for (const std::int64_t axis : as_list(source)) from.push_back(axis_in(axis, b.shape(x)));
    for (const std::int64_t axis : as_list(destination)) to.push_back(axis_in(axis, b.shape(x)));
    if (from.size() != to.size() || axes_in(source, b.shape(x)).size() != axes_in(destination, b.shape(x)).size())
      throw bad_input("{} axes cannot move to {} places", from.size(), to.size());
    return Call::result(moved(b, x, from, to));
  }

 private:
  Axes source = std::int64_t{0}, destination = std::int64_t{0};
};

// ---- order

ValueId flipped(Builder& b, ValueId x, std::span<const int> axes) {
  graph::Slice slice = whole(b.shape(x).rank());
  for (const int axis : axes) slice.ranges[static_cast<std::size_t>(axis)].step = -1;
  return b.apply(slice, {x});
}

class Flip : public Taking<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return Call::result(flipped(b, x, axes_in(axis, b.shape(x))));
  }

 private:
  std::optional<Axes> axis;
};

template <int kAxis>
class FlipAxis : public Taking<kX> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return Call::result(flipped(b, x, std::array{axis_in(kAxis, b.shape(x))}));
  }
};

inline constexpr std::array<std::string_view, 1> kRot90Arguments = {"array"};

/// Quarter turns in the plane of two axes, from the first towards the second.
class Rot90 : public Taking<kRot90Arguments> {
 public:
  void fields(Fields& f) override {
    f("k", k);
    f("axes", axes);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = call.tensor("array")->id;
    const Shape shape = b.shape(x);
    if (axes.items.size() != 2) throw bad_input("a plane has 2 axes, not {}", axes.items.size());
    const int first = axis_in(axes.items[0], shape), second = axis_in(axes.items[1], shape);
    if (first == second) throw bad_input("the two axes of a plane differ, both are {}", first);
    const auto turns = static_cast<int>(((k % 4) + 4) % 4);
    if (turns == 2) return Call::result(flipped(b, x, std::array{first, second}));
    if (turns == 1) x = flipped(b, x, std::array{second});
    if (turns != 0) x = moved(b, x, std::array{first, second}, std::array{second, first});
    if (turns == 3) x = flipped(b, x, std::array{second});
    return Call::result(x);
  }

 private:
  std::int64_t k = 1;
  Tuple axes{{0, 1}};
};

class Roll : public Taking<kX> {
 public:
  void fields(Fields& f) override {
    f.required("shift", shift);
    f("axis", axis);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    if (!axis) x = b.reshape(x, {kUnknown});
    const std::vector<std::int64_t> shifts = as_list(shift),
                                    axes = axis ? as_list(*axis) : std::vector<std::int64_t>{0};
    if (shifts.size() != axes.size() && shifts.size() != 1)
      throw bad_input("{} shifts do not fit {} axes", shifts.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
      x = rolled(b, x, axis_in(axes[i], b.shape(x)), shifts[shifts.size() == 1 ? 0 : i]);
    return Call::result(b.reshape(x, shape));
  }

 private:
  static ValueId rolled(Builder& b, ValueId x, int axis, std::int64_t by) {
    const Dim size = b.shape(x)[axis];
    if (size == kUnknown || size == 0) return x;  // of the same shape, which is all that is asked where it is unknown
    by = (by % size + size) % size;
    if (by == 0) return x;
    const ValueId last = sliced(b, x, axis, {-by, {}, 1}), first = sliced(b, x, axis, {{}, -by, 1});
    return b.apply(graph::Concat{axis}, {last, first});
  }

  Axes shift = std::int64_t{0};
  std::optional<Axes> axis;
};

// ---- copies

/// Each element several times in a row; one count for all, or one each.
class Repeat : public Taking<kX> {
 public:
  void fields(Fields& f) override {
    f.required("repeats", repeats);
    f("axis", axis);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = call.tensor("x")->id;
    if (!axis) x = b.reshape(x, {kUnknown});
    const int at = axis ? axis_in(*axis, b.shape(x)) : 0;
    const std::vector<std::int64_t> counts = as_list(repeats);
    for (const std::int64_t count : counts)
      if (count < 0) throw bad_input("an element cannot be repeated {} times", count);
    if (counts.size() == 1) return Call::result(repeated(b, x, at, counts.front()));
    const Dim size = b.shape(x)[at];
    if (size != kUnknown && size != static_cast<Dim>(counts.size()))
      throw bad_input("{} counts do not fit axis {}, which has {} elements", counts.size(), at, size);
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto from = static_cast<std::int64_t>(i);
      parts.push_back(repeated(b, sliced(b, x, at, {from, from + 1, 1}), at, counts[i]));
    }
    return Call::result(b.apply(graph::Concat{at}, parts));
  }

 private:
  Axes repeats = std::int64_t{1};
  std::optional<std::int64_t> axis;
};

class Tile : public Taking<kX> {
 public:
  void fields(Fields& f) override { f.required("repeats", repeats); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    std::vector<std::int64_t> counts = as_list(repeats);
    Shape shape = b.shape(x);
    const auto rank = std::max(counts.size(), static_cast<std::size_t>(shape.rank()));
    counts.insert(counts.begin(), rank - counts.size(), 1);
    Shape full(std::vector<Dim>(rank - static_cast<std::size_t>(shape.rank()), 1));
    full.append(shape);
    // Copies of an axis stand before it: (…, 1, n, …) becomes (…, count, n, …), then (…, count·n, …).
    Shape apart, wide, tiled;
    for (std::size_t i = 0; i < rank; ++i) {
      const Dim dim = full[static_cast<int>(i)];
      if (counts[i] < 0) throw bad_input("an axis cannot be repeated {} times", counts[i]);
      if (counts[i] != 1) {
        apart.push_back(1);
        wide.push_back(counts[i]);
      }
      apart.push_back(dim);
      wide.push_back(dim);
      tiled.push_back(times(dim, counts[i]));
    }
    if (apart.rank() == static_cast<int>(rank)) return Call::result(b.reshape(x, full));
    return Call::result(
        b.apply(graph::Reshape{tiled}, {b.apply(graph::Broadcast{wide}, {b.apply(graph::Reshape{apart}, {x})})}));
  }

 private:
  Axes repeats = std::int64_t{1};
};

inline constexpr std::array<std::string_view, 2> kPadArguments = {"x", "constant_values"};

class Pad : public Taking<kPadArguments> {
 public:
  void fields(Fields& f) override {
    f("pad_width", pad_width);
    f("mode", mode);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const auto rank = static_cast<std::size_t>(b.shape(x).rank());
    const auto widths = pairs(rank);
    graph::Pad pad;
    pad.mode = mode.value == "constant"    ? graph::PadMode::constant
               : mode.value == "reflect"   ? graph::PadMode::reflect
               : mode.value == "symmetric" ? graph::PadMode::symmetric
                                           : graph::PadMode::edge;
    pad.value = number_argument(call, "constant_values", 0.0);
    for (const auto& [before, after] : widths) {
      pad.before.push_back(before);
      pad.after.push_back(after);
    }
    return Call::result(b.apply(pad, {x}));
  }

 private:
  /// n, (n, m), ((n, m),) and ((n,), …) stand for a pair for each axis.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> pairs(std::size_t rank) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    const bool nested = pad_width.json.is_array() && !pad_width.json.empty() && pad_width.json[0].is_array();
    for (const Json& item : nested ? pad_width.json : Json::array({pad_width.json})) {
      const auto width = integers_of(item, "pad_width");
      if (width.empty() || width.size() > 2) throw bad_input("pad_width must hold pairs");
      out.emplace_back(width.front(), width.back());
    }
    if (out.size() == 1) out.resize(rank, out.front());
    if (out.size() != rank) throw bad_input("pad_width has {} pairs for {} axes", out.size(), rank);
    return out;
  }

  Opaque pad_width;
  Choice mode{"constant", {"constant", "reflect", "symmetric", "edge"}};
};

// ---- diagonals

/// Where column − row ≤ k (or ≥ k for the upper triangle) x stays; elsewhere it becomes 0.
template <bool kUpper>
class Triangle : public Taking<kX> {
 public:
  void fields(Fields& f) override { f("k", k); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Expression x{b, call.tensor("x")->id};
    const int rank = x.shape().rank();
    if (rank < 2) throw bad_input("a triangle needs 2 axes, x is {}", x.shape().str());
    const Dim rows = x.shape()[-2], columns = x.shape()[-1];
    const Expression down{b, b.apply(graph::Iota{{rows, 1}, DType::int64, 0, static_cast<double>(k), 1.0}, {})};
    const Expression right{b, b.apply(graph::Iota{{1, columns}, DType::int64, 1, 0.0, 1.0}, {})};
    return Call::result(where(kUpper ? down <= right : right <= down, x, x.number(0.0)));
  }

 private:
  std::int64_t k = 0;
};

/// The diagonal of the plane of two axes, as the last axis.
class Diagonal : public Taking<kX> {
 public:
  void fields(Fields& f) override {
    f("offset", offset);
    f("axis1", axis1);
    f("axis2", axis2);
  }
  Arg call(Call& call) override { return Call::result(diagonal(call)); }

 protected:
  ValueId diagonal(Call& call) {
    Builder& b = call.builder();
    ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    const int rank = shape.rank(), first = axis_in(axis1, shape), second = axis_in(axis2, shape);
    if (first == second) throw bad_input("the two axes of a diagonal differ, both are {}", first);
    x = moved(b, x, std::array{first, second}, std::array{rank - 2, rank - 1});
    const Dim rows = b.shape(x)[-2], columns = b.shape(x)[-1];
    Shape flat = b.shape(x).slice(0, rank - 2);
    const bool known = rows != kUnknown && columns != kUnknown;
    flat.push_back(known ? times(rows, columns) : kUnknown);
    x = b.apply(graph::Reshape{flat}, {x});
    if (!known) return x;
    const Dim down = std::min(-std::clamp<Dim>(offset, -kMaxSize, 0), rows);
    const Dim right = std::min(std::max<Dim>(offset, 0), columns);
    const Dim length = std::min(rows - down, columns - right);
    // Element i of it stands at (down + i, right + i) of the plane.
    const Dim start = times(down, columns) + right;
    const Dim stop = length == 0 ? start : start + times(length - 1, columns + 1) + 1;
    return sliced(b, x, rank - 2, {start, stop, columns + 1});
  }

 private:
  std::int64_t offset = 0, axis1 = 0, axis2 = 1;
};

class Trace : public Diagonal {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = diagonal(call);
    const graph::Reduce sum{graph::ReduceFn::sum, {b.shape(x).rank() - 1}, false};
    return Call::result(b.apply(sum, {b.cast(x, as_accumulator(b.dtype(x)))}));
  }
};

// ---- nothing at all

class Copy : public Taking<kX> {
 public:
  Arg call(Call& call) override { return Call::result(call.tensor("x")->id); }
};

inline constexpr std::array<std::string_view, 1> kVariable = {"variable"};

class StopGradient : public Taking<kVariable> {
 public:
  Arg call(Call& call) override { return Call::result(call.tensor("variable")->id); }
};

constexpr std::array kRows = {
    LayerRow{"Reshape", kNumpyOps, make_layer<Reshape>},
    LayerRow{"Ravel", kNumpyOps, make_layer<Ravel>},
    LayerRow{"ExpandDims", kNumpyOps, make_layer<ExpandDims>},
    LayerRow{"Squeeze", kNumpyOps, make_layer<Squeeze>},
    LayerRow{"BroadcastTo", kNumpyOps, make_layer<BroadcastTo>},
    LayerRow{"Transpose", kNumpyOps, make_layer<Transpose>},
    LayerRow{"Swapaxes", kNumpyOps, make_layer<Swapaxes>},
    LayerRow{"Moveaxis", kNumpyOps, make_layer<Moveaxis>},
    LayerRow{"Flip", kNumpyOps, make_layer<Flip>},
    LayerRow{"Flipud", kNumpyOps, make_layer<FlipAxis<0>>},
    LayerRow{"Fliplr", kNumpyOps, make_layer<FlipAxis<1>>},
    LayerRow{"Rot90", kNumpyOps, make_layer<Rot90>},
    LayerRow{"Roll", kNumpyOps, make_layer<Roll>},
    LayerRow{"Repeat", kNumpyOps, make_layer<Repeat>},
    LayerRow{"Tile", kNumpyOps, make_layer<Tile>},
    LayerRow{"Pad", kNumpyOps, make_layer<Pad>},
    LayerRow{"Tril", kNumpyOps, make_layer<Triangle<false>>},
    LayerRow{"Triu", kNumpyOps, make_layer<Triangle<true>>},
    LayerRow{"Diagonal", kNumpyOps, make_layer<Diagonal>},
    LayerRow{"Trace", kNumpyOps, make_layer<Trace>},
    LayerRow{"Copy", kNumpyOps, make_layer<Copy>},
    LayerRow{"StopGradient", kCoreOps, make_layer<StopGradient>},
};

}  // namespace

std::span<const LayerRow> layout_operations() { return kRows; }

}  // namespace attn::keras
