// Matrix products and other contractions.
#include <algorithm>
#include <map>
#include <string>

#include "attn/base/text.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Assigns letters to the axes of an einsum equation.
class Letters {
 public:
  char next() {
    if (used_ == kAll.size()) throw bad_input("a product over more than {} axes is not supported", kAll.size());
    return kAll[used_++];
  }

 private:
  static constexpr std::string_view kAll = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::size_t used_ = 0;
};

/// Contracts axes of x with axes of y; the result has the other axes of x, then those of y.
ValueId contracted(Builder& b, ValueId x, const std::vector<int>& x_axes, ValueId y, const std::vector<int>& y_axes) {
  const int x_rank = b.shape(x).rank(), y_rank = b.shape(y).rank();
  const auto count = static_cast<int>(x_axes.size());
  bool dense = count > 0;  // whether the last axes of x and the first of y are contracted
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Dim left = b.shape(x)[x_axes[at]], right = b.shape(y)[y_axes[at]];
    if (left != right && left != kUnknown && right != kUnknown)
      throw bad_input("axis {} of {} and axis {} of {} cannot be contracted", x_axes[at], b.shape(x).str(), y_axes[at],
                      b.shape(y).str());
    dense = dense && x_axes[at] == x_rank - count + i && y_axes[at] == i;
  }
  if (dense) return b.apply(graph::Linear{count, false, {}, false}, {x, y});

  Letters letters;
  std::string left, right(static_cast<std::size_t>(y_rank), ' '), out;
  for (int axis = 0; axis < x_rank; ++axis) {
    left += letters.next();
    const auto paired = std::find(x_axes.begin(), x_axes.end(), axis);
    if (paired == x_axes.end()) {
      out += left.back();
    } else {
      right[static_cast<std::size_t>(y_axes[static_cast<std::size_t>(paired - x_axes.begin())])] = left.back();
    }
  }
  for (char& letter : right) {
    if (letter != ' ') continue;
    letter = letters.next();
    out += letter;
  }
  return b.apply(graph::Einsum{left + "," + right + "->" + out}, {x, y});
}

class Matmul : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = product_dtype(std::array{x1.type(), x2.type()});
    return Call::result(call.builder().apply(graph::MatMul{}, {x1.as(dtype), x2.as(dtype)}));
  }
};

using ProductRule = ValueId (*)(Builder&, ValueId, ValueId);

/// A product of two tensors, which is elementwise if one is a scalar.
template <ProductRule kRule>
class Product : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.type(), x2.type()});
    Builder& b = call.builder();
    const ValueId x = x1.as(dtype), y = x2.as(dtype);
    const bool scalar = x1.rank() == 0 || x2.rank() == 0;
    return Call::result(scalar ? b.binary(graph::BinaryFn::multiply, x, y) : kRule(b, x, y));
  }
};

ValueId dot(Builder& b, ValueId x, ValueId y) {
  return contracted(b, x, {b.shape(x).rank() - 1}, y, {std::max(b.shape(y).rank() - 2, 0)});
}
ValueId inner(Builder& b, ValueId x, ValueId y) {
  return contracted(b, x, {b.shape(x).rank() - 1}, y, {b.shape(y).rank() - 1});
}
ValueId vdot(Builder& b, ValueId x, ValueId y) {
  return contracted(b, b.reshape(x, {kUnknown}), {0}, b.reshape(y, {kUnknown}), {0});
}

/// Flattened x1 as a column times flattened x2 as a row.
class Outer : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.type(), x2.type()});
    Builder& b = call.builder();
    return Call::result(b.binary(graph::BinaryFn::multiply, b.reshape(x1.as(dtype), {kUnknown, 1}),
                                 b.reshape(x2.as(dtype), {1, kUnknown})));
  }
};

/// The Kronecker product: each element of x1 is replaced by the block of that element times x2.
class Kron : public WithArguments<kX1X2> {
 public:
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.type(), x2.type()});
    Builder& b = call.builder();
    const int rank = std::max(x1.rank(), x2.rank());
    const auto full = [&](const Operand& operand) {
      Shape shape(std::vector<Dim>(static_cast<std::size_t>(rank - operand.rank()), 1));
      shape.append(operand.shape());
      return shape;
    };
    const Shape outer = full(x1), inner = full(x2);
    Shape spread, blocks, out;
    for (int axis = 0; axis < rank; ++axis) {
      spread.append({outer[axis], 1});
      blocks.append({1, inner[axis]});
      out.push_back(outer[axis] == kUnknown || inner[axis] == kUnknown ? kUnknown : times(outer[axis], inner[axis]));
    }
    const ValueId products = b.binary(graph::BinaryFn::multiply, b.apply(graph::Reshape{spread}, {x1.as(dtype)}),
                                      b.apply(graph::Reshape{blocks}, {x2.as(dtype)}));
    return Call::result(b.apply(graph::Reshape{out}, {products}));
  }
  /// Keras aligns the axes from the front, and drops those without a counterpart.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    Shape out;
    for (int axis = 0; axis < std::min(x1.rank(), x2.rank()); ++axis) {
      const Dim outer = x1.shape()[axis], inner = x2.shape()[axis];
      out.push_back(outer == kUnknown || inner == kUnknown ? kUnknown : times(outer, inner));
    }
    return {{out}};
  }
};

/// `axes` is the number of contracted axes (the last of x1, the first of x2), or a list of axes for each.
class Tensordot : public WithArguments<kX1X2> {
 public:
  void fields(Fields& f) override { f("axes", axes); }
  Arg call(Call& call) override {
    const Operand x1(call, "x1"), x2(call, "x2");
    const DType dtype = result_type({x1.type(), x2.type()});
    std::vector<int> x_axes, y_axes;
    if (axes.json.is_number_integer()) {
      const auto count = axes.json.get<std::int64_t>();
      if (count > std::min(x1.rank(), x2.rank()))
        throw bad_input("{} and {} do not have {} axes each", x1.shape().str(), x2.shape().str(), count);
      for (int i = 0; i < count; ++i) {
        x_axes.push_back(x1.rank() - static_cast<int>(count) + i);
        y_axes.push_back(i);
      }
    } else {
      if (!axes.json.is_array() || axes.json.size() != 2)
        throw bad_input("axes must be a number of axes or a pair of lists, got {}", printable(axes.json.dump()));
      x_axes = side(axes.json[0], x1.shape());
      y_axes = side(axes.json[1], x2.shape());
      if (x_axes.size() != y_axes.size())
        throw bad_input("{} axes cannot be contracted with {} axes", x_axes.size(), y_axes.size());
    }
    return Call::result(contracted(call.builder(), x1.as(dtype), x_axes, x2.as(dtype), y_axes));
  }

 private:
  static std::vector<int> side(const Json& json, const Shape& shape) {
    std::vector<int> out;
    for (const Json& axis : json.is_array() ? json : Json::array({json})) {
      if (!axis.is_number_integer()) throw bad_input("an axis must be an integer, got {}", printable(axis.dump()));
      const int found = axis_in(axis.get<std::int64_t>(), shape);
      if (std::find(out.begin(), out.end(), found) != out.end()) throw bad_input("axis {} is named twice", found);
      out.push_back(found);
    }
    return out;
  }

  Opaque axes{Json(2)};
};

inline constexpr std::array<std::string_view, 16> kOperands = {
    "operand 0", "operand 1", "operand 2",  "operand 3",  "operand 4",  "operand 5",  "operand 6",  "operand 7",
    "operand 8", "operand 9", "operand 10", "operand 11", "operand 12", "operand 13", "operand 14", "operand 15"};

/// Einsum with Keras's equations. The graph's equations are explicit, so the ellipsis is replaced by letters and an
/// implied output is added.
class Einsum : public WithArguments<kOperands> {
 public:
  void fields(Fields& f) override { f.required("subscripts", subscripts); }

  Arg call(Call& call) override {
    std::vector<Operand> inputs;
    for (const std::string_view operand : kOperands)
      if (call.has(operand)) inputs.emplace_back(call, operand);
    std::vector<Promoted> types;
    for (const Operand& input : inputs) types.emplace_back(input.own_dtype());
    if (types.empty()) throw bad_input("einsum needs an operand");
    const DType dtype = product_dtype(types);

    std::string equation;
    std::copy_if(subscripts.begin(), subscripts.end(), std::back_inserter(equation), [](char c) { return c != ' '; });
    const auto arrow = equation.find("->");
    std::vector<std::string> terms = split(std::string_view(equation).substr(0, arrow), ',');
    if (terms.size() != inputs.size())
      throw bad_input("the equation '{}' is for {} operands, there are {}", printable(subscripts), terms.size(),
                      inputs.size());
    std::string out = arrow == std::string::npos ? implied_output(terms) : equation.substr(arrow + 2);

    const std::string wide = free_letters(equation, inputs, terms);
    std::vector<ValueId> values;
    Shape common = common_ellipsis(inputs, terms);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(inputs[i].as(dtype));
      expand(call.builder(), terms[i], values.back(), wide, common);
    }
    if (const auto at = out.find("..."); at != std::string::npos) out.replace(at, 3, wide);
    std::string explicit_equation = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) explicit_equation += "," + terms[i];
    return Call::result(call.builder().apply(graph::Einsum{explicit_equation + "->" + out}, values));
  }

 private:
  /// Returns the implied output: the ellipsis, then the letters that occur once, in alphabetical order.
  static std::string implied_output(const std::vector<std::string>& terms) {
    std::map<char, int> counts;
    bool ellipsis = false;
    for (const std::string& term : terms) {
      for (const char c : term) {
        if (c == '.') {
          ellipsis = true;
        } else {
          ++counts[c];
        }
      }
    }
    std::string out = ellipsis ? "..." : "";
    for (const auto& [letter, count] : counts)
      if (count == 1) out += letter;
    return out;
  }

  /// Returns the sizes of the axes that an operand's ellipsis stands for, and their position.
  static Shape ellipsis_of(const Operand& input, const std::string& term) {
    const auto at = term.find("...");
    if (at == std::string::npos) return {};
    const int rest = static_cast<int>(term.size()) - 3, first = static_cast<int>(at);
    const Shape shape = input.shape();
    if (shape.rank() < rest) throw bad_input("'{}' does not fit an operand {}", printable(term), shape.str());
    return shape.slice(first, first + shape.rank() - rest);
  }

  static Shape common_ellipsis(const std::vector<Operand>& inputs, const std::vector<std::string>& terms) {
    Shape common;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto met = broadcast(common, ellipsis_of(inputs[i], terms[i]));
      if (!met) throw bad_input("the axes that '...' stands for do not broadcast");
      common = *met;
    }
    return common;
  }

  /// Returns unused letters, one for each axis of the longest ellipsis.
  static std::string free_letters(const std::string& equation, const std::vector<Operand>& inputs,
                                  const std::vector<std::string>& terms) {
    const int count = common_ellipsis(inputs, terms).rank();
    std::string out;
    for (Letters letters; static_cast<int>(out.size()) < count;) {
      const char letter = letters.next();
      if (equation.find(letter) == std::string::npos) out += letter;
    }
    return out;
  }

  /// Replaces the ellipsis of a term by letters. Axes of size 1 that are broadcast are removed.
  static void expand(Builder& b, std::string& term, ValueId& value, const std::string& wide, const Shape& common) {
    const auto at = term.find("...");
    if (at == std::string::npos) return;
    const Shape shape = b.shape(value);
    const int first = static_cast<int>(at), count = shape.rank() - (static_cast<int>(term.size()) - 3);
    std::string letters;
    Shape kept = shape.slice(0, first);
    for (int i = 0; i < count; ++i) {
      const int place = common.rank() - count + i;
      if (shape[first + i] == 1 && common[place] != 1) continue;
      letters += wide[static_cast<std::size_t>(place)];
      kept.push_back(shape[first + i]);
    }
    kept.append(shape.slice(first + count, shape.rank()));
    term.replace(at, 3, letters);
    if (kept.rank() != shape.rank()) value = b.apply(graph::Reshape{kept}, {value});
  }

  std::string subscripts;
};

constexpr std::array kProductOperations = {
    ClassInfo{"Matmul", make_layer<Matmul>, 300, kNumpyOps},
    ClassInfo{"Dot", make_layer<Product<dot>>, 300, kNumpyOps},
    ClassInfo{"Inner", make_layer<Product<inner>>, 307, kNumpyOps},
    ClassInfo{"Vdot", make_layer<Product<vdot>>, 300, kNumpyOps},
    ClassInfo{"Outer", make_layer<Outer>, 300, kNumpyOps},
    ClassInfo{"Tensordot", make_layer<Tensordot>, 300, kNumpyOps},
    ClassInfo{"Einsum", make_layer<Einsum>, 300, kNumpyOps},
    ClassInfo{"Kron", make_layer<Kron>, 312, kNumpyOps},
};

}  // namespace

Family product_operations() { return kProductOperations; }

}  // namespace attn::keras
