// How far a kernel may be from the reference, and why.
#pragma once

#include <vector>

#include "attn/base/tensor.h"
#include "cases.h"

namespace attn::test {

/// Must a correct kernel give the very bits of the reference? True for what moves, compares or rounds numbers, and for
/// what one correctly rounded operation of the dtype computes (+, ·, ÷).
[[nodiscard]] bool is_exact(const Case& row);

/// The allowed error of each element of each output.
///
/// A kernel that computes in the dtype's own precision (unit roundoff u: 2⁻²⁴ in float32) is as good as the exact
/// operation on inputs that are each off by u: the classic backward error. So the operation is evaluated in float64 on
/// inputs whose elements move by ±u of their size at random, a few times, and Δ is the largest change seen. A sum of k
/// terms rounds k times, and rounding errors add up like random steps: √k. Hence
///
///     4·√k·Δ + 4·u·(|y| + intermediate)
///
/// with Δ taken over the row (last axis) where elements mix, per element else. `intermediate` is what a kernel of that
/// precision holds and rounds on the way although no input does: an activation min(|x|, 4); a layer normalization over
/// the last axis the mean, in units of the result max|x|·max|gamma|/deviation; a recurrent step 1, for its gates z give
/// 1 − z. What is smaller than the least normal number may be flushed to zero.
[[nodiscard]] std::vector<std::vector<double>> tolerances(const Case& row, const std::vector<Tensor>& inputs,
                                                          const std::vector<Tensor>& expected);

/// The reference's outputs of a case, without a plan.
[[nodiscard]] std::vector<Tensor> reference(const graph::Op& op, const std::vector<Tensor>& inputs);

}  // namespace attn::test
