// Gradients of unary and binary functions.
#include <cmath>

#include "rules.h"

namespace attn::gradients {

using graph::BinaryFn;
using graph::UnaryFn;

namespace {

/// Returns whether the function is piecewise constant: the loss then does not depend on its operands.
bool is_flat(UnaryFn fn) {
  switch (fn) {
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return true;
    default:
      return false;
  }
}

/// Returns whether the function is max(x, 0), whose result is positive exactly where x is.
bool is_plain_relu(const graph::Unary& op) {
  return op.fn == UnaryFn::relu && op.a == 0.0 && op.b == 0.0 && std::isinf(op.c);
}

/// The gradients of x^y are dy·y·x^(y−1), and dy·x^y·ln x where x > 0, otherwise 0.
void power(Step& step) {
  Builder& b = step.b;
  const ValueId x = step.x(0), y = step.x(1), dy = step.dy();
  if (step.wants(0)) {
    const ValueId less = step.subtract(y, b.scalar_like(y, 1.0));
    step.give_unbroadcast(0, step.multiply(dy, step.multiply(y, b.binary(BinaryFn::power, x, less))));
  }
  if (step.wants(1)) {
    const ValueId positive = b.binary(BinaryFn::greater, x, b.scalar_like(x, 0.0));
    const ValueId log = b.unary(UnaryFn::log, step.select(positive, x, b.scalar_like(x, 1.0)));
    step.give_unbroadcast(1, step.multiply(dy, step.multiply(step.y(), log)));
  }
}

/// Passes the whole gradient to x where `fn` holds, otherwise to y.
void choice(BinaryFn fn, Step& step) {
  const ValueId first = step.b.binary(fn, step.x(0), step.x(1)), dy = step.dy();
  const ValueId zero = step.b.scalar_like(dy, 0.0);
  if (step.wants(0)) step.give_unbroadcast(0, step.select(first, dy, zero));
  if (step.wants(1)) step.give_unbroadcast(1, step.select(first, zero, dy));
}

/// The gradients of the angle of (y, x) are dy·x/(x² + y²) and −dy·y/(x² + y²).
void angle(Step& step) {
  Builder& b = step.b;
  const ValueId y = step.x(0), x = step.x(1);
  const ValueId square = step.add(b.unary(UnaryFn::square, x), b.unary(UnaryFn::square, y));
  const ValueId scaled = step.divide(step.dy(), square);
  if (step.wants(0)) step.give_unbroadcast(0, step.multiply(scaled, x));
  if (step.wants(1)) step.give_unbroadcast(1, step.negative(step.multiply(scaled, y)));
}

}  // namespace

void differentiate(const graph::Unary& op, Step& step) {
  if (op.fn == UnaryFn::float8_e4m3fn) no_gradient(step);
  if (is_flat(op.fn)) return;
  if (op.fn == UnaryFn::linear) return step.give(0, step.dy());
  if (op.fn == UnaryFn::negative) return step.give(0, step.negative(step.dy()));
  step.give(0, step.b.apply(graph::UnaryGrad{op}, {is_plain_relu(op) ? step.y() : step.x(0), step.dy()}));
}

void differentiate(const graph::Binary& op, Step& step) {
  Builder& b = step.b;
  const ValueId x = step.x(0), y = step.x(1);
  switch (op.fn) {
    case BinaryFn::add:
      step.give_unbroadcast(0, step.dy());
      step.give_unbroadcast(1, step.dy());
      return;
    case BinaryFn::subtract:
      step.give_unbroadcast(0, step.dy());
      if (step.wants(1)) step.give(1, step.negative(step.unbroadcast(step.dy(), step.shape(y))));
      return;
    case BinaryFn::multiply:
      if (step.wants(0)) step.give_unbroadcast(0, step.multiply(step.dy(), y));
      if (step.wants(1)) step.give_unbroadcast(1, step.multiply(step.dy(), x));
      return;
    case BinaryFn::divide: {
      const ValueId quotient = step.divide(step.dy(), y);
      step.give_unbroadcast(0, quotient);
      if (step.wants(1)) step.give_unbroadcast(1, step.negative(step.multiply(quotient, step.y())));
      return;
    }
    case BinaryFn::mod:
      step.give_unbroadcast(0, step.dy());
      if (step.wants(1))
        step.give_unbroadcast(1, step.negative(step.multiply(step.dy(), b.binary(BinaryFn::floor_divide, x, y))));
      return;
    case BinaryFn::power:
      return power(step);
    case BinaryFn::maximum:
      return choice(BinaryFn::greater_equal, step);
    case BinaryFn::minimum:
      return choice(BinaryFn::less_equal, step);
    case BinaryFn::atan2:
      return angle(step);
    case BinaryFn::floor_divide:
    case BinaryFn::equal:
    case BinaryFn::not_equal:
    case BinaryFn::less:
    case BinaryFn::less_equal:
    case BinaryFn::greater:
    case BinaryFn::greater_equal:
    case BinaryFn::logical_and:
    case BinaryFn::logical_or:
    case BinaryFn::logical_xor:
      return;  // piecewise constant
  }
}

void differentiate(const graph::Select&, Step& step) {
  const ValueId dy = step.dy(), zero = step.b.scalar_like(dy, 0.0);
  if (step.wants(1)) step.give_unbroadcast(1, step.select(step.x(0), dy, zero));
  if (step.wants(2)) step.give_unbroadcast(2, step.select(step.x(0), zero, dy));
}

void differentiate(const graph::Cast&, Step& step) { step.give(0, step.b.cast(step.dy(), step.b.dtype(step.x(0)))); }

}  // namespace attn::gradients
