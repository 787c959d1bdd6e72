// Triangles and diagonals of matrices.
#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/ops.h"
#include "classes/ops/promotion.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Keeps x where column − row ≤ k (≥ k for the upper triangle), and sets the rest to 0.
template <bool kUpper>
class Triangle : public WithArguments<kX> {
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

/// Returns the diagonal of the plane of two axes, as the last axis.
ValueId diagonal_of(Builder& b, ValueId x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
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
  // Element i is at (down + i, right + i) of the plane.
  const Dim start = times(down, columns) + right;
  const Dim stop = length == 0 ? start : start + times(length - 1, columns + 1) + 1;
  return sliced(b, x, rank - 2, {start, stop, columns + 1});
}

class Diagonal : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("offset", offset);
    f("axis1", axis1);
    f("axis2", axis2);
  }
  Arg call(Call& call) override { return Call::result(diagonal(call)); }

 protected:
  ValueId diagonal(Call& call) { return diagonal_of(call.builder(), call.tensor("x")->id, offset, axis1, axis2); }

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

/// Returns a matrix with x on its diagonal k, and zeros elsewhere.
ValueId plane_around(Builder& b, ValueId x, std::int64_t k) {
  const Dim length = b.shape(x)[0];
  const std::int64_t aside = k < 0 ? -k : k;
  if (aside > kMaxSize) throw bad_input("the diagonal {} is too far out", k);
  const Dim size = length == kUnknown ? kUnknown : length + aside;
  const auto counted = [&](int axis, std::int64_t from) {
    return Expression{b, b.apply(graph::Iota{{size, size}, DType::int64, axis, static_cast<double>(from), 1.0}, {})};
  };
  graph::Pad pad;
  pad.before = {k < 0 ? aside : 0};
  pad.after = {k < 0 ? 0 : aside};
  const ValueId rows = b.expand_dims(b.apply(pad, {x}), 1);  // element i of x in its row
  return where(counted(1, 0) == counted(0, k), {b, b.apply(graph::Broadcast{{size, size}}, {rows})},
               Expression{b, rows}.number(0.0));
}

/// Creates a matrix from its diagonal, or extracts the diagonal of a matrix.
class Diag : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("k", k); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const int rank = b.shape(x).rank();
    if (rank == 1) return Call::result(plane_around(b, x, k));
    if (rank != 2) throw bad_input("diag takes 1 or 2 axes, x is {}", b.shape(x).str());
    return Call::result(diagonal_of(b, x, k, 0, 1));
  }

 private:
  std::int64_t k = 0;
};

class Diagflat : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("k", k); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    return Call::result(plane_around(b, b.reshape(call.tensor("x")->id, {kUnknown}), k));
  }

 private:
  std::int64_t k = 0;
};

constexpr std::array kDiagonalOperations = {
    ClassInfo{"Tril", make_layer<Triangle<false>>, 300, kNumpyOps},
    ClassInfo{"Triu", make_layer<Triangle<true>>, 300, kNumpyOps},
    ClassInfo{"Diagonal", make_layer<Diagonal>, 300, kNumpyOps},
    ClassInfo{"Trace", make_layer<Trace>, 300, kNumpyOps},
    ClassInfo{"Diag", make_layer<Diag>, 300, kNumpyOps},
    ClassInfo{"Diagflat", make_layer<Diagflat>, 308, kNumpyOps},
};

}  // namespace

Family diagonal_operations() { return kDiagonalOperations; }

}  // namespace attn::keras
