// Linear systems and related results, expressed by existing graph operations. There is one elimination step for each
// row, over all matrices of a batch. Every backend, gradients and ONNX export support them without further code.
#pragma once

#include <optional>

#include "classes/ops/expression.h"

namespace attn::keras {

/// Throws Error (bad_input) unless x is a batch of float matrices with a known size below the limit. Every step adds
/// several operations.
void expect_matrices(const Expression& x);
/// Throws Error (bad_input) unless x is a batch of square matrices that expect_matrices() accepts.
void expect_square(const Expression& x);

/// Swaps the last two axes.
[[nodiscard]] Expression transposed(const Expression& x);

/// The result of Gaussian elimination with partial pivoting of (…, m, n). It has the upper triangle with the
/// multipliers below it. It also has the original index of each row (…, m, 1), in the dtype of x, and the sign of the
/// permutation (1 or −1): (…, 1, 1). `beside` (…, m, k) is transformed in the same way.
struct Eliminated {
  Expression upper, rows, sign;
  std::optional<Expression> beside;
};
[[nodiscard]] Eliminated eliminated(const Expression& x, const std::optional<Expression>& beside = {});

/// Returns L with x = L·Lᵀ for x (…, n, n); NaN if there is none.
[[nodiscard]] Expression cholesky(const Expression& x);
/// Returns x with a·x = b for a (…, n, n) and b (…, n, k). Only the lower or upper triangle of a is read.
[[nodiscard]] Expression solved_triangular(const Expression& a, const Expression& b, bool lower);
/// Returns x with a·x = b.
[[nodiscard]] Expression solved(const Expression& a, const Expression& b);
/// Returns the identity matrix of `size`, with the batch axes of x.
[[nodiscard]] Expression unit_like(const Expression& x, Dim size);
/// Returns the diagonal (…, n) of x (…, n, n).
[[nodiscard]] Expression diagonal(const Expression& x);

/// Q and R of (…, m, n) by Householder reflections, with the signs of LAPACK and Eigen; Q is complete (…, m, m).
struct QrFactors {
  Expression q, r;
};
[[nodiscard]] QrFactors qr_factors(const Expression& x);

}  // namespace attn::keras
