// Joins tensors, and splits them.
#include <algorithm>

#include "classes/ops/array/layout.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// The maximum number of outputs. More outputs are probably a mistake.
constexpr std::int64_t kMaxParts = 65536;

/// Returns the tensors of a list argument, in their common dtype.
std::vector<ValueId> promoted(Call& call, std::string_view name) {
  const std::vector<Operand> items = operands(call, name);
  const DType dtype = result_type(types_of(items));
  std::vector<ValueId> out;
  for (const Operand& item : items) out.push_back(item.as(dtype));
  return out;
}

ValueId concatenated(Builder& b, const std::vector<ValueId>& parts, std::int64_t axis) {
  return b.apply(graph::Concat{axis_in(axis, b.shape(parts.front()))}, parts);
}

/// Returns Keras's symbolic shape: that of the first tensor, except along the axis.
Shape joined_shape(const std::vector<Shape>& parts, std::int64_t axis) {
  Shape out = parts.front();
  const int at = axis_in(axis, out);
  out[at] = 0;
  for (const Shape& part : parts) out[at] = out[at] == kUnknown || part[at] == kUnknown ? kUnknown : out[at] + part[at];
  return out;
}

/// Concatenates tensors along an existing axis.
class ConcatenateOperation : public WithArguments<kXs> {
 public:
  Arg call(Call& call) override {
    const std::vector<ValueId> parts = promoted(call, "xs");
    return Call::result(concatenated(call.builder(), parts, along(call.builder().shape(parts.front()))));
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    std::vector<Shape> parts;
    for (const Operand& part : operands(call, "xs")) parts.push_back(part.shape());
    return {{joined_shape(parts, along(parts.front()))}};
  }

 protected:
  [[nodiscard]] virtual std::int64_t along(const Shape& shape) const = 0;
};

class Concatenate : public ConcatenateOperation {
 public:
  void fields(Fields& f) override { f("axis", axis); }

 private:
  [[nodiscard]] std::int64_t along(const Shape&) const override { return axis; }
  std::int64_t axis = 0;
};

class Stack : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    std::vector<ValueId> parts = promoted(call, "x");
    const auto at = normalize_axis(axis, b.shape(parts.front()).rank() + 1);
    if (!at) throw bad_input("axis {} is outside of a stack of {}", axis, b.shape(parts.front()).str());
    for (ValueId& part : parts) part = b.expand_dims(part, *at);
    return Call::result(concatenated(b, parts, *at));
  }
  /// Keras's symbolic shape, as for ConcatenateOperation.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const std::vector<Operand> parts = operands(call, "x");
    const Shape first = parts.front().shape();
    const int at = normalize_axis(axis, first.rank() + 1).value_or(0);
    Shape out = first.slice(0, at);
    out.push_back(static_cast<Dim>(parts.size()));
    out.append(first.slice(at, first.rank()));
    return {{out}};
  }

 private:
  std::int64_t axis = 0;
};

class Hstack : public ConcatenateOperation {
  [[nodiscard]] std::int64_t along(const Shape& shape) const override { return shape.rank() == 1 ? 0 : 1; }
};

class Vstack : public ConcatenateOperation {
  [[nodiscard]] std::int64_t along(const Shape&) const override { return 0; }
};

/// Along the third axis; (n) counts as (1, n, 1) and (n, m) as (n, m, 1).
class Dstack : public WithArguments<kXs> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    std::vector<ValueId> parts = promoted(call, "xs");
    for (ValueId& part : parts) {
      if (b.shape(part).rank() < 2) part = b.expand_dims(part, 0);
      while (b.shape(part).rank() < 3) part = b.expand_dims(part, -1);
    }
    return Call::result(concatenated(b, parts, 2));
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    std::vector<Shape> parts;
    for (const Operand& part : operands(call, "xs")) {
      Shape shape = part.shape();
      if (shape.rank() < 2) shape = shape.rank() == 0 ? Shape{1, 1} : Shape{1, shape[0]};
      if (shape.rank() < 3) shape.push_back(1);
      parts.push_back(shape);
    }
    return {{joined_shape(parts, 2)}};
  }
};

class Append : public WithArguments<kX1X2> {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.type(), x2.type()});
    std::vector<ValueId> parts = {x1.as(dtype), x2.as(dtype)};
    if (!axis)
      for (ValueId& part : parts) part = b.reshape(part, {kUnknown});
    return Call::result(concatenated(b, parts, axis.value_or(0)));
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    if (!axis) return std::nullopt;
    return {{joined_shape({Operand(call, "x1").shape(), Operand(call, "x2").shape()}, *axis)}};
  }

 private:
  std::optional<std::int64_t> axis;
};

inline constexpr std::array<std::string_view, 8> kGridArguments = {"x 0", "x 1", "x 2", "x 3",
                                                                   "x 4", "x 5", "x 6", "x 7"};

/// Flattens each tensor, gives it an axis of its own, and broadcasts it over the axes of the other tensors.
class Meshgrid : public WithArguments<kGridArguments> {
 public:
  void fields(Fields& f) override { f("indexing", indexing); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    std::vector<ValueId> flat;
    for (const std::string_view argument : kGridArguments)
      if (call.has(argument)) flat.push_back(b.reshape(Operand(call, argument).value(), {kUnknown}));
    if (flat.empty()) throw bad_input("meshgrid needs a tensor");
    const bool swapped = indexing.value == "xy" && flat.size() > 1;
    const auto place = [&](std::size_t i) { return swapped && i < 2 ? 1 - i : i; };
    Shape full(std::vector<Dim>(flat.size(), 1));
    for (std::size_t i = 0; i < flat.size(); ++i) full[static_cast<int>(place(i))] = b.shape(flat[i])[0];
    ArgList out;
    for (std::size_t i = 0; i < flat.size(); ++i) {
      Shape along(std::vector<Dim>(flat.size(), 1));
      along[static_cast<int>(place(i))] = b.shape(flat[i])[0];
      out.emplace_back(Call::result(b.apply(graph::Broadcast{full}, {b.apply(graph::Reshape{along}, {flat[i]})})));
    }
    return out;
  }

 private:
  Choice indexing{"xy", {"xy", "ij"}};
};

// ---- Splitting

void expect_parts(std::int64_t count) {
  if (count < 1 || count > kMaxParts) throw bad_input("a tensor cannot be split into {} parts", count);
}

/// Splits into `count` parts of equal size, or at given indices.
Arg pieces(Call& call, const Axes& indices_or_sections, std::int64_t along) {
  Builder& b = call.builder();
  const ValueId x = call.tensor("x")->id;
  const Shape shape = b.shape(x);
  const int axis = axis_in(along, shape);
  const Dim size = shape[axis];
  std::vector<std::int64_t> bounds{0};
  if (const auto* sections = std::get_if<std::int64_t>(&indices_or_sections)) {
    expect_parts(*sections);
    if (size != kUnknown && size % *sections != 0)
      throw bad_input("axis {} of {} cannot be split into {} equal parts", axis, shape.str(), *sections);
    const Dim part = size == kUnknown ? 0 : size / *sections;
    for (std::int64_t i = 1; i <= *sections; ++i) bounds.push_back(i * part);
  } else {
    for (const std::int64_t index : as_list(indices_or_sections)) {
      if (index < bounds.back() || (size != kUnknown && index > size))
        throw bad_input("axis {} of {} cannot be split at {}", axis, shape.str(), index);
      bounds.push_back(index);
    }
    expect_parts(static_cast<std::int64_t>(bounds.size()));
    bounds.push_back(std::max(size, bounds.back()));
  }
  ArgList parts;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
    parts.emplace_back(Call::result(sliced(b, x, axis, {bounds[i], bounds[i + 1], 1})));
  return parts;
}

/// split, and hsplit, vsplit and dsplit, which have a fixed axis.
class SplitAlong : public WithArguments<kX> {
 public:
  Arg call(Call& call) override { return pieces(call, indices_or_sections, along(call.shape("x"))); }
  /// Between two given indices Keras knows the size, also for unknown axes.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const auto* indices = std::get_if<std::vector<std::int64_t>>(&indices_or_sections);
    if (indices == nullptr) return std::nullopt;
    Shape shape = call.shape("x");
    const int at = axis_in(along(shape), shape);
    const Dim size = shape[at];
    std::vector<Shape> out;
    for (std::size_t i = 0; i <= indices->size(); ++i) {
      const Dim from = i == 0 ? 0 : (*indices)[i - 1];
      const Dim to = i < indices->size() ? (*indices)[i] : size;
      shape[at] = to == kUnknown ? kUnknown : to - from;
      out.push_back(shape);
    }
    return out;
  }

 protected:
  [[nodiscard]] virtual std::int64_t along(const Shape& shape) const = 0;
  Axes indices_or_sections = std::int64_t{1};
};

class Split : public SplitAlong {
 public:
  void fields(Fields& f) override {
    f.required("indices_or_sections", indices_or_sections);
    f("axis", axis);
  }

 private:
  [[nodiscard]] std::int64_t along(const Shape&) const override { return axis; }
  std::int64_t axis = 0;
};

template <int kAxis>
class SplitAxis : public SplitAlong {
 public:
  void fields(Fields& f) override { f.required("indices_or_sections", indices_or_sections); }

 private:
  /// hsplit splits a vector along its only axis.
  [[nodiscard]] std::int64_t along(const Shape& shape) const override {
    return kAxis == 1 && shape.rank() == 1 ? 0 : kAxis;
  }
};

/// Splits into parts whose sizes differ by at most one, the larger ones first.
class ArraySplit : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("indices_or_sections", sections);
    f("axis", axis);
  }
  Arg call(Call& call) override {
    expect_parts(sections);
    const Shape shape = call.shape("x");
    const Dim size = shape[axis_in(axis, shape)];
    std::vector<std::int64_t> indices;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i + 1 < sections; ++i) {
      at += size == kUnknown ? 0 : size / sections + (i < size % sections ? 1 : 0);
      indices.push_back(at);
    }
    return pieces(call, indices, axis);
  }

 private:
  std::int64_t sections = 1, axis = 0;
};

class Unstack : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("num", num);
    f("axis", axis);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const Shape shape = b.shape(x);
    const int at = axis_in(axis, shape);
    const std::int64_t count = num.value_or(shape[at]);
    if (count == kUnknown) throw bad_input("axis {} of {} must be known to be unstacked", at, shape.str());
    if (shape[at] != kUnknown && count != shape[at])
      throw bad_input("axis {} of {} cannot be unstacked into {}", at, shape.str(), count);
    expect_parts(count);
    Shape rest = shape.slice(0, at);
    rest.append(shape.slice(at + 1, shape.rank()));
    ArgList parts;
    for (std::int64_t i = 0; i < count; ++i)
      parts.emplace_back(Call::result(b.apply(graph::Reshape{rest}, {sliced(b, x, at, {i, i + 1, 1})})));
    return parts;
  }

 private:
  std::optional<std::int64_t> num;
  std::int64_t axis = 0;
};

constexpr std::array kJoiningOperations = {
    ClassInfo{"Concatenate", make_layer<Concatenate>, 300, kNumpyOps},
    ClassInfo{"Stack", make_layer<Stack>, 300, kNumpyOps},
    ClassInfo{"Hstack", make_layer<Hstack>, 300, kNumpyOps},
    ClassInfo{"Vstack", make_layer<Vstack>, 300, kNumpyOps},
    ClassInfo{"Dstack", make_layer<Dstack>, 314, kNumpyOps},
    ClassInfo{"Append", make_layer<Append>, 300, kNumpyOps},
    ClassInfo{"Meshgrid", make_layer<Meshgrid>, 300, kNumpyOps},
    ClassInfo{"Split", make_layer<Split>, 300, kNumpyOps},
    ClassInfo{"Hsplit", make_layer<SplitAxis<1>>, 314, kNumpyOps},
    ClassInfo{"Vsplit", make_layer<SplitAxis<0>>, 314, kNumpyOps},
    ClassInfo{"Dsplit", make_layer<SplitAxis<2>>, 315, kNumpyOps},
    ClassInfo{"ArraySplit", make_layer<ArraySplit>, 313, kNumpyOps},
    ClassInfo{"Unstack", make_layer<Unstack>, 300, kCoreOps},
};

}  // namespace

Family joining_operations() { return kJoiningOperations; }

}  // namespace attn::keras
