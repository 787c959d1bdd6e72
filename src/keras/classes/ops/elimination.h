// Systems of linear equations and what follows from them, as sums of the graph's own operations: a step for each row,
// over all matrices of a batch at once. So every backend runs them, and their gradients and their ONNX form follow.
#pragma once

#include <optional>

#include "classes/ops/expression.h"

namespace attn::keras {

/// Throws Error (bad_input) for what is no batch of matrices of floats of a known size, or too large a one: a step is a
/// handful of operations.
void expect_matrices(const Expression& x);
/// The same where they are not square.
void expect_square(const Expression& x);

/// With their last two axes exchanged.
[[nodiscard]] Expression transposed(const Expression& x);

/// What Gaussian elimination with partial pivoting makes of (…, m, n): the upper triangle with, below it, the factors
/// by which its rows were taken; the row that each came from (…, m, 1), as numbers of x's dtype; and whether these are
/// an even number of exchanges (1) or an odd one (−1): (…, 1, 1). What stands in `beside` (…, m, k) goes the same way.
struct Eliminated {
  Expression upper, rows, sign;
  std::optional<Expression> beside;
};
[[nodiscard]] Eliminated eliminated(const Expression& x, const std::optional<Expression>& beside = {});

/// L of (…, n, n) = L·Lᵀ; NaN where there is none.
[[nodiscard]] Expression cholesky(const Expression& x);
/// x of a·x = b, (…, n, n) and (…, n, k), by the lower or the upper triangle of a alone.
[[nodiscard]] Expression solved_triangular(const Expression& a, const Expression& b, bool lower);
/// x of a·x = b.
[[nodiscard]] Expression solved(const Expression& a, const Expression& b);
/// The unit matrix beside x, for as many matrices.
[[nodiscard]] Expression unit_like(const Expression& x, Dim size);
/// The diagonal of (…, n, n): (…, n).
[[nodiscard]] Expression diagonal(const Expression& x);

/// Q and R of (…, m, n) by Householder's reflections, with the signs that LAPACK and Eigen give: all of Q (…, m, m).
struct Reflected {
  Expression q, r;
};
[[nodiscard]] Reflected reflected(const Expression& x);

}  // namespace attn::keras
