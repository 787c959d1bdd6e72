// Operations that reorder, repeat and pad elements.
#include <algorithm>
#include <array>

#include "classes/ops/array/layout.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

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

// ---- order

ValueId flipped(Builder& b, ValueId x, std::span<const int> axes) {
  graph::Slice slice = whole(b.shape(x).rank());
  for (const int axis : axes) slice.ranges[static_cast<std::size_t>(axis)].step = -1;
  return b.apply(slice, {x});
}

class Flip : public WithArguments<kX> {
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
class FlipAxis : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    return Call::result(flipped(b, x, std::array{axis_in(kAxis, b.shape(x))}));
  }
};

inline constexpr std::array<std::string_view, 1> kRot90Arguments = {"array"};

/// Rotates the plane of two axes by 90 degrees, from the first axis towards the second.
class Rot90 : public WithArguments<kRot90Arguments> {
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
  /// Keras's compute_output_spec treats every rotation as one by 90 degrees.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    Shape out = call.shape("array");
    const int first = axis_in(axes.items[0], out), second = axis_in(axes.items[1], out);
    std::swap(out[first], out[second]);
    return {{out}};
  }

 private:
  std::int64_t k = 1;
  Tuple axes{{0, 1}};
};

class Roll : public WithArguments<kX> {
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
    if (size == kUnknown || size == 0) return x;  // only the shape matters if the size is unknown
    by = (by % size + size) % size;
    if (by == 0) return x;
    const ValueId last = sliced(b, x, axis, {-by, {}, 1}), first = sliced(b, x, axis, {{}, -by, 1});
    return b.apply(graph::Concat{axis}, {last, first});
  }

  Axes shift = std::int64_t{0};
  std::optional<Axes> axis;
};

// ---- copies

/// Repeats each element. There is one count for all elements, or one for each.
class Repeat : public WithArguments<kX> {
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

class Tile : public WithArguments<kX> {
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
    // Repetitions become a new axis before each axis: (…, 1, n, …) becomes (…, count, n, …), then (…, count·n, …).
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

inline constexpr std::array<std::string_view, 1> kA = {"a"};

/// Differences of neighboring elements, computed n times.
class Diff : public WithArguments<kA> {
 public:
  void fields(Fields& f) override {
    f("n", n);
    f("axis", axis);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = call.tensor("a")->id;
    if (n < 0 || n > kMostDifferences) throw bad_input("differences can be taken 0 to {} times", kMostDifferences);
    const int at = axis_in(axis, b.shape(x));
    const auto fn = b.dtype(x) == DType::boolean ? graph::BinaryFn::not_equal : graph::BinaryFn::subtract;
    for (std::int64_t i = 0; i < n; ++i) x = b.binary(fn, sliced(b, x, at, {1, {}, 1}), sliced(b, x, at, {{}, -1, 1}));
    return Call::result(x);
  }

 private:
  static constexpr std::int64_t kMostDifferences = 64;
  std::int64_t n = 1, axis = -1;
};

inline constexpr std::array<std::string_view, 2> kPadArguments = {"x", "constant_values"};

class Pad : public WithArguments<kPadArguments> {
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
  /// Returns a pair of margins for each axis. The forms n, (n, m), ((n, m),) and ((n,), …) are all valid.
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

constexpr std::array kArrangementOperations = {
    ClassInfo{"Flip", make_layer<Flip>, 300, kNumpyOps},
    ClassInfo{"Flipud", make_layer<FlipAxis<0>>, 314, kNumpyOps},
    ClassInfo{"Fliplr", make_layer<FlipAxis<1>>, 314, kNumpyOps},
    ClassInfo{"Rot90", make_layer<Rot90>, 309, kNumpyOps},
    ClassInfo{"Roll", make_layer<Roll>, 300, kNumpyOps},
    ClassInfo{"Repeat", make_layer<Repeat>, 300, kNumpyOps},
    ClassInfo{"Tile", make_layer<Tile>, 300, kNumpyOps},
    ClassInfo{"Pad", make_layer<Pad>, 300, kNumpyOps},
    ClassInfo{"Diff", make_layer<Diff>, 300, kNumpyOps},
};

}  // namespace

Family arrangement_operations() { return kArrangementOperations; }

}  // namespace attn::keras
