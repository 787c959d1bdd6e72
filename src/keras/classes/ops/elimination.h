// Linear systems and related results, expressed by existing graph operations: one elimination step for each row, over
// all matrices of a batch. Every backend, gradients and ONNX export support them without further code.
#pragma once

#include <optional>

#include "classes/ops/expression.h"

namespace attn::keras {

/// Throws Error (bad_input) unless x is a batch of float matrices with a known size below the limit (every step adds
/// several operations).
void expect_matrices(const Expression& x);
/// Throws Error (bad_input) unless x is a batch of square matrices that expect_matrices() accepts.
void expect_square(const Expression& x);

/// Swaps the last two axes.
[[nodiscard]] Expression transposed(const Expression& x);

/// Gaussian elimination with partial pivoting of (…, m, n): the upper triangle with the multipliers below it; the
/// original row of each row (…, m, 1), in the dtype of x; and the sign of the permutation (1 or −1): (…, 1, 1).
/// `beside` (…, m, k) is transformed in the same way.
struct Eliminated {
  Expression upper, rows, sign;
  std::optional<Expression> beside;
};
[[nodiscard]] Eliminated eliminated(const Expression& x, const std::optional<Expression>& beside = {});

/// L of (…, n, n) = L·Lᵀ; NaN if there is none.
[[nodiscard]] Expression cholesky(const Expression& x);
/// x of a·x = b, (…, n, n) and (…, n, k), where only the lower or upper triangle of a is read.
[[nodiscard]] Expression solved_triangular(const Expression& a, const Expression& b, bool lower);
/// x of a·x = b.
[[nodiscard]] Expression solved(const Expression& a, const Expression& b);
/// The identity matrix, for the batch of x.
[[nodiscard]] Expression unit_like(const Expression& x, Dim size);
/// The diagonal of (…, n, n): (…, n).
[[nodiscard]] Expression diagonal(const Expression& x);

/// Q and R of (…, m, n) by Householder reflections, with the signs of LAPACK and Eigen; Q is complete (…, m, m).
struct Reflected {
  Expression q, r;
};
[[nodiscard]] Reflected reflected(const Expression& x);

}  // namespace attn::keras
