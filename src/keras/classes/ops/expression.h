// Graph values with operators, so that a lowering reads like a formula.
#pragma once

#include "attn/graph/graph.h"

namespace attn::keras {

/// A value of a graph. Both operands of an operator have the same dtype; a number takes the dtype of the other operand.
struct Expression {
  graph::Builder* builder;
  graph::ValueId id;

  Expression(graph::Builder& b, graph::ValueId value) : builder(&b), id(value) {}
  operator graph::ValueId() const { return id; }  // NOLINT: stands for its value
  [[nodiscard]] DType dtype() const { return builder->dtype(id); }
  [[nodiscard]] Shape shape() const { return builder->shape(id); }
  [[nodiscard]] Expression number(double value) const { return {*builder, builder->scalar_like(id, value)}; }
  [[nodiscard]] Expression unary(graph::UnaryFn fn) const { return {*builder, builder->unary(fn, id)}; }
  [[nodiscard]] Expression binary(graph::BinaryFn fn, const Expression& y) const {
    return {*builder, builder->binary(fn, id, y.id)};
  }
  [[nodiscard]] Expression cast(DType dtype) const { return {*builder, builder->cast(id, dtype)}; }
  [[nodiscard]] Expression reduced(graph::Reduce over) const {
    return {*builder, builder->apply(std::move(over), {id})};
  }
};

inline Expression operator+(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::add, y); }
inline Expression operator-(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::subtract, y); }
inline Expression operator*(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::multiply, y); }
inline Expression operator/(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::divide, y); }
inline Expression operator+(const Expression& x, double y) { return x + x.number(y); }
inline Expression operator*(const Expression& x, double y) { return x * x.number(y); }
inline Expression operator/(const Expression& x, double y) { return x / x.number(y); }
inline Expression operator-(double x, const Expression& y) { return y.number(x) - y; }
inline Expression operator-(const Expression& x) { return x.unary(graph::UnaryFn::negative); }
inline Expression operator==(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::equal, y); }
inline Expression operator==(const Expression& x, double y) { return x == x.number(y); }
inline Expression operator<(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::less, y); }
inline Expression operator<(const Expression& x, double y) { return x < x.number(y); }
inline Expression operator>(const Expression& x, double y) { return x.number(y) < x; }
inline Expression operator<=(const Expression& x, const Expression& y) {
  return x.binary(graph::BinaryFn::less_equal, y);
}
/// Logical and/or of two bool values.
inline Expression operator&(const Expression& x, const Expression& y) {
  return x.binary(graph::BinaryFn::logical_and, y);
}
inline Expression operator|(const Expression& x, const Expression& y) {
  return x.binary(graph::BinaryFn::logical_or, y);
}

inline Expression abs(const Expression& x) { return x.unary(graph::UnaryFn::absolute); }
inline Expression exp(const Expression& x) { return x.unary(graph::UnaryFn::exponential); }
inline Expression log1p(const Expression& x) { return x.unary(graph::UnaryFn::log1p); }
inline Expression sqrt(const Expression& x) { return x.unary(graph::UnaryFn::sqrt); }
inline Expression square(const Expression& x) { return x.unary(graph::UnaryFn::square); }
inline Expression isnan(const Expression& x) { return x.unary(graph::UnaryFn::isnan); }
inline Expression max(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::maximum, y); }
inline Expression min(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::minimum, y); }
inline Expression pow(const Expression& x, const Expression& y) { return x.binary(graph::BinaryFn::power, y); }
/// Returns condition ? x : y, elementwise.
inline Expression where(const Expression& condition, const Expression& x, const Expression& y) {
  return {*x.builder, x.builder->apply(graph::Select{}, {condition.id, x.id, y.id})};
}

}  // namespace attn::keras
