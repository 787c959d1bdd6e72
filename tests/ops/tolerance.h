// The tolerance of a kernel against the reference, and its derivation.
#pragma once

#include <vector>

#include "attn/base/tensor.h"
#include "cases.h"

namespace attn::test {

/// Whether a correct kernel must give the exact bits of the reference. True for operations that move, compare or round
/// numbers, and for a single correctly rounded operation of the dtype (+, ·, ÷).
[[nodiscard]] bool is_exact(const Case& row);

/// The allowed error of each element of each output.
///
/// A kernel that computes in the dtype's own precision (unit roundoff u: 2⁻²⁴ in float32) is as good as the exact
/// operation on inputs that are each off by u: the classic backward error. The operation is therefore evaluated a few
/// times in float64 on inputs whose elements move by ±u of their size at random, and Δ is the largest change seen. A
/// sum of k terms rounds k times, and rounding errors add up like a random walk: √k. This gives the allowed error
///
/// 4·√k·Δ + 4·u·(|y| + intermediate).
///
/// Here Δ is the maximum over the row (last axis) if the operation mixes elements, otherwise per element. The term
/// `intermediate` is an internal value that a kernel of that precision rounds although no input has it. For an
/// activation it is min(|x|, 4). For a layer normalization over the last axis it is the mean, in units of the result
/// max|x|·max|gamma|/deviation. For a recurrent step it is 1, since its gates z give 1 − z. Results below the least
/// normal number may be flushed to zero.
[[nodiscard]] std::vector<std::vector<double>> tolerances(const Case& row, const std::vector<Tensor>& inputs,
                                                          const std::vector<Tensor>& expected);

/// The reference's outputs of a case, without a plan.
[[nodiscard]] std::vector<Tensor> reference(const graph::Op& op, const std::vector<Tensor>& inputs);

}  // namespace attn::test
