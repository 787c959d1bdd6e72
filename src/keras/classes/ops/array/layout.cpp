// Shapes, axis orders, and identity operations.
#include "classes/ops/array/layout.h"

#include <algorithm>
#include <numeric>

#include "attn/base/size.h"
#include "classes/ops/ops.h"

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

// ---- Shapes

/// Reshapes. One dimension may be open: −1, or None if Keras did not know it.
class ReshapeOperation : public WithArguments<kX> {
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

class Ravel : public WithArguments<kX> {
 public:
  Arg call(Call& call) override { return Call::result(call.builder().reshape(call.tensor("x")->id, {kUnknown})); }
};

class ExpandDims : public WithArguments<kX> {
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

class Squeeze : public WithArguments<kX> {
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

class BroadcastTo : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f.required("shape", shape); }
  Arg call(Call& call) override {
    return Call::result(call.builder().apply(graph::Broadcast{shape}, {call.tensor("x")->id}));
  }

 private:
  Shape shape;
};

// ---- Axes

class Transpose : public WithArguments<kX> {
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

class Swapaxes : public WithArguments<kX> {
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

class Moveaxis : public WithArguments<kX> {
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

// ---- Identity

class Copy : public WithArguments<kX> {
 public:
  Arg call(Call& call) override { return Call::result(call.tensor("x")->id); }
};

inline constexpr std::array<std::string_view, 1> kVariable = {"variable"};

class StopGradient : public WithArguments<kVariable> {
 public:
  Arg call(Call& call) override { return Call::result(call.tensor("variable")->id); }
};

constexpr std::array kLayoutOperations = {
    ClassInfo{"Reshape", make_layer<ReshapeOperation>, 300, kNumpyOps},
    ClassInfo{"Ravel", make_layer<Ravel>, 300, kNumpyOps},
    ClassInfo{"ExpandDims", make_layer<ExpandDims>, 300, kNumpyOps},
    ClassInfo{"Squeeze", make_layer<Squeeze>, 300, kNumpyOps},
    ClassInfo{"BroadcastTo", make_layer<BroadcastTo>, 300, kNumpyOps},
    ClassInfo{"Transpose", make_layer<Transpose>, 300, kNumpyOps},
    ClassInfo{"Swapaxes", make_layer<Swapaxes>, 300, kNumpyOps},
    ClassInfo{"Moveaxis", make_layer<Moveaxis>, 300, kNumpyOps},
    ClassInfo{"Copy", make_layer<Copy>, 300, kNumpyOps},
    ClassInfo{
        .name = "StopGradient", .make = make_layer<StopGradient>, .since = 300, .module = kCoreOps, .named_until = 0},
};

}  // namespace

Family layout_operations() { return kLayoutOperations; }

}  // namespace attn::keras
