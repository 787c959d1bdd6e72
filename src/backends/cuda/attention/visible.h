// Which keys a query sees, for every attention kernel.
#pragma once

#include <cstdint>

#include "attention.h"
#include "simt.h"

namespace attn::cuda {

__device__ inline std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
__device__ inline std::int64_t larger(std::int64_t x, std::int64_t y) { return x > y ? x : y; }

/// The elements of `view` before batch entry, or sequence, `b`.
__device__ inline std::int64_t begin_of(const AttentionProblem& problem, const HeadsView& view, std::int64_t b) {
  return problem.starts == nullptr ? b * view.batch_stride : problem.starts[b] * view.row_stride;
}

/// The rows that batch entry, or sequence, `b` has of `most`, which is T or S.
__device__ inline std::int64_t rows_of(const AttentionProblem& problem, std::int64_t most, std::int64_t b) {
  return problem.starts == nullptr ? most : smaller(most, problem.starts[b + 1] - problem.starts[b]);
}

/// How many of its keys are not padding: 0 to S.
__device__ inline std::int64_t keys_of(const AttentionProblem& problem, std::int64_t b) {
  if (problem.lengths == nullptr) return rows_of(problem, problem.S, b);
  return larger(0, smaller(problem.S, problem.lengths[b]));
}

/// Whether all masks let query t of head n see key s; all four are inside of the arrays.
__device__ inline bool masks_allow(const AttentionProblem& problem, std::int64_t b, std::int64_t n, std::int64_t t,
                                   std::int64_t s) {
  for (int i = 0; i < problem.masks; ++i) {
    const std::int64_t* const step = problem.mask[i].strides;
    if (!problem.mask[i].data[b * step[0] + n * step[1] + t * step[2] + s * step[3]]) return false;
  }
  return true;
}

/// The keys from `first` to before `last`, which lengths, causal and window let a query see, or several queries. Index
/// is an integer that holds sums of two positions.
template <typename Index>
struct KeyRange {
  Index first, last;
};
/// What any of the queries from `t` to `t + rows - 1` sees of `keys` keys. Where none sees any, last ≤ first.
template <typename Index>
__device__ inline KeyRange<Index> keys_seen(const AttentionProblem& problem, Index keys, Index t, Index rows) {
  const Index window = static_cast<Index>(problem.window);
  KeyRange<Index> range{0, keys};
  if (problem.causal && t + rows < range.last) range.last = t + rows;
  if (window > 0) {
    if (t - window + 1 > 0) range.first = t - window + 1;
    if (t + rows - 1 + window < range.last) range.last = t + rows - 1 + window;
  }
  return range;
}

}  // namespace attn::cuda
