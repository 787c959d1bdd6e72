// The matrix operations of keras.ops.linalg that follow from elimination and reflections. Eigenvalues and singular
// values need iterations until convergence, which a graph does not have.
#include <algorithm>
#include <array>
#include <string_view>

#include "classes/ops/array/layout.h"
#include "classes/ops/elimination.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::UnaryFn;

inline constexpr std::array<std::string_view, 2> kAB = {"a", "b"};

Expression last_summed(const Expression& x, ReduceFn fn = ReduceFn::sum) {
  return x.reduced({fn, {x.shape().rank() - 1}, false});
}
/// Removes the last two axes of (…, 1, 1).
Expression without_plane(const Expression& x) {
  const Shape shape = x.shape();
  return {*x.builder, x.builder->apply(graph::Reshape{shape.slice(0, shape.rank() - 2)}, {x})};
}
Expression matrix_product(const Expression& x, const Expression& y, bool transpose_x, bool transpose_y) {
  return {*x.builder, x.builder->apply(graph::MatMul{transpose_x, transpose_y}, {x, y})};
}
Expression inverse(const Expression& x) { return solved(x, unit_like(x, x.shape()[-1])); }
Expression determinant(const Expression& x) {
  const Eliminated out = eliminated(x);
  return last_summed(diagonal(out.upper), ReduceFn::prod) * without_plane(out.sign);
}
/// Returns the log-determinant of a matrix with a Cholesky decomposition, as TensorFlow computes it.
Expression log_determinant(const Expression& x) { return last_summed(diagonal(cholesky(x)).unary(UnaryFn::log)) * 2.0; }

using MatrixFunction = Expression (*)(const Expression&);

/// A function of square matrices.
template <MatrixFunction kFunction>
class SquareMatrixOperation : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    const Expression x{call.builder(), Operand(call, "x").value()};
    expect_square(x);
    return Call::result(kFunction(x));
  }
};

class Slogdet : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    const Expression x{call.builder(), Operand(call, "x").value()};
    expect_square(x);
    const Eliminated out = eliminated(x);
    const Expression corners = diagonal(out.upper);
    const Expression sign = last_summed(corners.unary(UnaryFn::sign), ReduceFn::prod) * without_plane(out.sign);
    return ArgList{Call::result(sign), Call::result(last_summed(abs(corners).unary(UnaryFn::log)))};
  }
  /// Keras reports a scalar sign for any batch.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = Operand(call, "x").shape();
    return {{Shape{}, in.slice(0, in.rank() - 2)}};
  }
};

class Cholesky : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("upper", upper, 312); }
  Arg call(Call& call) override {
    const Expression x{call.builder(), Operand(call, "x").value()};
    expect_square(x);
    const Expression lower = cholesky(x);
    return Call::result(upper ? transposed(lower) : lower);
  }

 private:
  bool upper = false;
};

/// The inverse of a matrix, given its Cholesky decomposition x.
class CholeskyInverse : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("upper", upper); }
  Arg call(Call& call) override {
    const Expression x{call.builder(), Operand(call, "x").value()};
    expect_square(x);
    const Expression part = solved_triangular(x, unit_like(x, x.shape()[-1]), !upper);
    return Call::result(matrix_product(part, part, !upper, upper));
  }

 private:
  bool upper = false;
};

/// Solves a·x = b; b may be a single column without an axis for columns.
template <typename Solve>
Arg solution(Call& call, Solve solve) {
  Builder& builder = call.builder();
  const Operand a(call, "a"), b(call, "b");
  const DType dtype = result_type({a.own_dtype(), b.own_dtype()});
  const Expression matrices{builder, a.as(dtype)};
  expect_square(matrices);
  Expression right{builder, b.as(dtype)};
  const bool one = right.shape().rank() == matrices.shape().rank() - 1;
  if (one) right = {builder, builder.expand_dims(right, -1)};
  if (right.shape().rank() != matrices.shape().rank() || right.shape()[-2] != matrices.shape()[-1])
    throw bad_input("the shapes of a {} and b {} do not match", matrices.shape().str(), b.shape().str());
  const Expression out = solve(matrices, right);
  if (!one) return Call::result(out);
  const Shape shape = out.shape();
  return Call::result(builder.apply(graph::Reshape{shape.slice(0, shape.rank() - 1)}, {out}));
}

class Solve : public WithArguments<kAB> {
 public:
  Arg call(Call& call) override { return solution(call, solved); }
};

class SolveTriangular : public WithArguments<kAB> {
 public:
  void fields(Fields& f) override { f("lower", lower); }
  Arg call(Call& call) override {
    return solution(call, [&](const Expression& a, const Expression& b) { return solved_triangular(a, b, lower); });
  }

 private:
  bool lower = false;
};

/// The LU factorization: both triangles in one matrix, and the permutation of rows.
class LuFactor : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Expression x{b, Operand(call, "x").value()};
    expect_matrices(x);
    if (x.shape()[-2] > x.shape()[-1])
      throw bad_input("more rows than columns are not supported, got {}", x.shape().str());
    const Eliminated out = eliminated(x);
    // Row i of the result is the original row rows[i]; Keras returns the inverse permutation.
    const Dim m = x.shape()[-2];
    const Expression down{b, b.apply(graph::Iota{{m, 1}, x.dtype(), 0, 0.0, 1.0}, {})};
    const Expression across{b, b.apply(graph::Iota{{1, m}, x.dtype(), 1, 0.0, 1.0}, {})};
    const Expression found = where(out.rows == across, down, down.number(0.0));
    const Expression went = found.reduced({ReduceFn::sum, {found.shape().rank() - 2}, false});
    return ArgList{Call::result(out.upper), Call::result(went.cast(DType::int32))};
  }
};

class Qr : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("mode", mode); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Expression x{b, Operand(call, "x").value()};
    expect_matrices(x);
    const QrFactors out = qr_factors(x);
    if (mode.value == "complete") return ArgList{Call::result(out.q), Call::result(out.r)};
    const int rank = x.shape().rank();
    const Dim count = std::min(x.shape()[-2], x.shape()[-1]);
    return ArgList{Call::result(sliced(b, out.q, rank - 1, {0, count, 1})),
                   Call::result(sliced(b, out.r, rank - 2, {0, count, 1}))};
  }

 private:
  Choice mode{"reduced", {"reduced", "complete"}};
};

constexpr std::array kLinalgOperations = {
    unnamed_before_311("Inv", make_layer<SquareMatrixOperation<inverse>>, 300, kLinalgOps),
    unnamed_before_311("Det", make_layer<SquareMatrixOperation<determinant>>, 300, kLinalgOps),
    unnamed_before_311("Logdet", make_layer<SquareMatrixOperation<log_determinant>>, 306, kMathOps),
    unnamed_before_311("Slogdet", make_layer<Slogdet>, 303, kNumpyOps),
    unnamed_before_311("Cholesky", make_layer<Cholesky>, 300, kLinalgOps),
    ClassInfo{"CholeskyInverse", make_layer<CholeskyInverse>, 312, kLinalgOps},
    unnamed_before_311("Solve", make_layer<Solve>, 300, kLinalgOps),
    ClassInfo{"SolveTriangular", make_layer<SolveTriangular>, 300, kLinalgOps},
    unnamed_before_311("LuFactor", make_layer<LuFactor>, 300, kLinalgOps),
    ClassInfo{"Qr", make_layer<Qr>, 300, kLinalgOps},
};

}  // namespace

Family linalg_operations() { return kLinalgOperations; }

}  // namespace attn::keras
