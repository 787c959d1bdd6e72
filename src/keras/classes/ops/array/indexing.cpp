// Subscripts, and selection of elements by index.
#include <algorithm>

#include "attn/base/size.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

inline constexpr std::array<std::string_view, 2> kXKey = {"x", "key"};

/// x[key]: integers, slices, None and one ellipsis.
class GetItem : public WithArguments<kXKey> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    const Arg& given = call.arg("key");
    ArgList key = given.as<ArgList>() ? *given.as<ArgList>() : ArgList{given};

    const auto is_ellipsis = [](const Arg& item) { return item.as<EllipsisArg>() != nullptr; };
    const auto ellipses = std::count_if(key.begin(), key.end(), is_ellipsis);
    if (ellipses > 1) throw bad_input("a subscript can have only one ellipsis");
    if (ellipses == 0) key.emplace_back(EllipsisArg{});
    const auto new_axes = std::count_if(key.begin(), key.end(), [](const Arg& item) { return item.is_none(); });
    const int left = shape.rank() - static_cast<int>(static_cast<std::ptrdiff_t>(key.size()) - new_axes - 1);
    if (left < 0) throw bad_input("the subscript has more indices than {} has axes", shape.str());

    graph::Slice slice = whole(shape.rank());
    std::vector<int> kept;  // the remaining axes of x, and −1 for new ones
    int axis = 0;
    for (const Arg& item : key) {
      if (item.is_none()) {
        kept.push_back(-1);
      } else if (is_ellipsis(item)) {
        for (int i = 0; i < left; ++i) kept.push_back(axis++);
      } else if (const auto* part = item.as<SliceArg>()) {
        slice.ranges[static_cast<std::size_t>(axis)] = part->range;
        kept.push_back(axis++);
      } else if (const auto* index = item.as<std::int64_t>()) {
        slice.ranges[static_cast<std::size_t>(axis)] = only(*index, axis, shape);
        ++axis;
      } else {
        throw bad_input("a subscript holds integers, slices, None and an ellipsis only");
      }
    }

    const bool cuts = std::any_of(slice.ranges.begin(), slice.ranges.end(), [](const graph::Range& range) {
      return range.start || range.stop || range.step != 1;
    });
    const ValueId picked = cuts ? b.apply(slice, {x}) : x;
    Shape out;
    for (const int at : kept) out.push_back(at < 0 ? 1 : b.shape(picked)[at]);
    return Call::result(static_cast<int>(kept.size()) == shape.rank() && new_axes == 0
                            ? picked
                            : b.apply(graph::Reshape{out}, {picked}));
  }

 private:
  static graph::Range only(std::int64_t index, int axis, const Shape& shape) {
    const Dim size = shape[axis];
    const Dim most = size == kUnknown ? kMaxSize : size;
    if (index >= most || index < -most)
      throw bad_input("index {} is outside of axis {} of {}", index, axis, shape.str());
    if (index == -1) return {-1, {}, 1};
    return {index, index + 1, 1};
  }
};

inline constexpr std::array<std::string_view, 2> kSliceArguments = {"inputs", "start_indices"};

/// Returns the starts of a window, which must be numbers; computed starts are unsupported.
std::vector<std::int64_t> starts_of(Call& call) {
  const Arg& arg = call.arg("start_indices");
  std::vector<std::int64_t> starts;
  if (const auto* list = arg.as<ArgList>()) {
    for (const Arg& item : *list) {
      if (!item.as<std::int64_t>()) throw bad_input("start_indices must be integers, not tensors");
      starts.push_back(*item.as<std::int64_t>());
    }
  } else if (const auto* constant = arg.as<ConstantArg>()) {
    for (std::int64_t i = 0; i < constant->tensor.size(); ++i)
      starts.push_back(static_cast<std::int64_t>(constant->tensor.at(i)));
  } else {
    throw bad_input("start_indices must be a list of integers: a window that moves is not supported");
  }
  return starts;
}

/// A window with the given starts and shape; −1 means the rest of the axis.
class Slice : public WithArguments<kSliceArguments> {
 public:
  void fields(Fields& f) override { f.required("shape", shape, 311); }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const Shape& full = b.shape(x);
    const std::vector<std::int64_t> starts = starts_of(call);
    const auto rank = static_cast<std::size_t>(full.rank());
    if (shape.items.size() != rank || starts.size() != rank)
      throw bad_input("{} starts and {} sizes do not fit {}", starts.size(), shape.items.size(), full.str());
    graph::Slice slice = whole(full.rank());
    for (std::size_t i = 0; i < rank; ++i) {
      const Dim size = full[static_cast<int>(i)];
      const std::int64_t start = starts[i], length = shape.items[i];
      const bool fits = start >= 0 && length >= -1 && start <= kMaxSize && length <= kMaxSize - start &&
                        (size == kUnknown || start + std::max<std::int64_t>(length, 0) <= size);
      if (!fits) throw bad_input("{} elements from {} on are not in axis {} of {}", length, start, i, full.str());
      slice.ranges[i].start = start;
      if (length >= 0) slice.ranges[i].stop = start + length;
    }
    return Call::result(b.apply(slice, {x}));
  }
  /// Keras uses the given sizes, also for unknown axes.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape& full = call.shape("inputs");
    const std::vector<std::int64_t> starts = starts_of(call);
    Shape out;
    for (int axis = 0; axis < full.rank(); ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      out.push_back(shape.items[i] >= 0 ? shape.items[i] : full[axis] == kUnknown ? kUnknown : full[axis] - starts[i]);
    }
    return std::vector{out};
  }

 private:
  Tuple shape;
};

inline constexpr std::array<std::string_view, 2> kTakeArguments = {"x", "indices"};

DType index_dtype(const Operand& indices) {
  return is_integer(indices.own_dtype()) ? indices.own_dtype() : DType::int32;
}

/// Returns slices of an axis (or elements of the flat array) by index.
class Take : public WithArguments<kTakeArguments> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = Operand(call, "x").value();
    if (!axis) x = b.reshape(x, {kUnknown});
    const Operand indices(call, "indices");
    const int at = axis ? axis_in(*axis, b.shape(x)) : 0;
    return Call::result(b.apply(graph::Gather{at}, {x, indices.as(index_dtype(indices))}));
  }

 private:
  std::optional<std::int64_t> axis;
};

class TakeAlongAxis : public WithArguments<kTakeArguments> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = Operand(call, "x").value();
    if (!axis) x = b.reshape(x, {kUnknown});
    const int at = axis ? axis_in(*axis, b.shape(x)) : 0;
    return Call::result(taken_along(b, x, Operand(call, "indices").as(DType::int64), at));
  }

 private:
  std::optional<std::int64_t> axis;
};

inline constexpr std::array<std::string_view, 3> kUpdateArguments = {"inputs", "start_indices", "updates"};

/// Replaces a window of x, at the given starts.
class SliceUpdate : public WithArguments<kUpdateArguments> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id, updates = Operand(call, "updates").as(b.dtype(x));
    const Shape full = b.shape(x), window = b.shape(updates);
    const std::vector<std::int64_t> starts = starts_of(call);
    if (window.rank() != full.rank() || starts.size() != static_cast<std::size_t>(full.rank()))
      throw bad_input("{} starts and a window {} do not fit {}", starts.size(), window.str(), full.str());
    graph::Pad around;
    for (int axis = 0; axis < full.rank(); ++axis) {
      const std::int64_t start = starts[static_cast<std::size_t>(axis)];
      const bool known = full[axis] != kUnknown && window[axis] != kUnknown;
      if (start < 0 || start > kMaxSize || (known && start > full[axis] - window[axis]))
        throw bad_input("{} elements from {} on are not in axis {} of {}", window[axis], start, axis, full.str());
      around.before.push_back(start);
      around.after.push_back(known ? full[axis] - window[axis] - start : 0);
    }
    // If only the shape of the window is known, only the shape of the result is valid.
    if (call.lowering().symbolic()) return Call::result(b.apply(graph::Fill{full, b.dtype(x), 0.0}, {}));
    const ValueId inside = b.apply(around, {b.apply(graph::Fill{window, DType::boolean, 1.0}, {})});
    return Call::result(b.apply(graph::Select{}, {inside, b.apply(around, {updates}), x}));
  }
};

constexpr std::array kIndexingOperations = {
    ClassInfo{"GetItem", make_layer<GetItem>, 300, kNumpyOps},
    ClassInfo{"Slice", make_layer<Slice>, 300, kCoreOps},
    ClassInfo{"Take", make_layer<Take>, 300, kNumpyOps},
    ClassInfo{"TakeAlongAxis", make_layer<TakeAlongAxis>, 300, kNumpyOps},
    ClassInfo{"SliceUpdate", make_layer<SliceUpdate>, 300, kCoreOps},
};

}  // namespace

ValueId taken_along(Builder& b, ValueId x, ValueId indices, int axis) {
  const Shape shape = b.shape(x), chosen = b.shape(indices);
  if (chosen.rank() != shape.rank())
    throw bad_input("the indices {} must have as many axes as x {}", chosen.str(), shape.str());
  Shape around = shape;
  around[axis] = 1;
  Shape others = chosen;
  others[axis] = 1;
  auto out = broadcast(around, others);
  if (!out) throw bad_input("the indices {} do not fit x {}", chosen.str(), shape.str());
  Shape full = *out;
  full[axis] = shape[axis];
  (*out)[axis] = chosen[axis];
  x = b.apply(graph::Broadcast{full}, {x});
  const Expression index{b, b.apply(graph::Broadcast{*out}, {indices})};

  // The index of each element in flattened x. Sizes are known in every graph that runs; otherwise strides do not
  // matter.
  const auto known = [](Dim dim) { return std::max<Dim>(dim, 1); };
  const auto size = static_cast<double>(known(shape[axis]));
  const Expression counted = where(index < 0.0, index + size, index);
  const Expression inside = (counted < size) & (index.number(-1.0) < counted);
  std::int64_t stride = 1;
  std::optional<Expression> place;
  for (int i = full.rank() - 1; i >= 0; --i) {
    const Expression along =
        i == axis ? counted * static_cast<double>(stride)
                  : Expression{b, b.apply(graph::Iota{*out, DType::int64, i, 0.0, static_cast<double>(stride)}, {})};
    place = place ? *place + along : along;
    stride = times(known(full[i]), stride);
  }
  // An index that is out of range must stay so, and not select another element.
  const Expression flat_index = where(inside, *place, index.number(static_cast<double>(stride)));
  return b.apply(graph::Gather{0}, {b.reshape(x, {kUnknown}), flat_index});
}

Family indexing_operations() { return kIndexingOperations; }

}  // namespace attn::keras
