// Which keys a query sees, for every attention kernel.
#pragma once

#include <cstdint>

#include "attention.h"
#include "simt.h"

namespace attn::cuda {

__device__ inline std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
__device__ inline std::int64_t larger(std::int64_t x, std::int64_t y) { return x > y ? x : y; }

/// How many of the keys of batch entry `b` are not padding: 0 to S.
__device__ inline std::int64_t keys_of(const AttentionProblem& problem, std::int64_t b) {
  if (problem.lengths == nullptr) return problem.S;
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

/// The keys from `first` to before `last`, which lengths, causal and window let a query see, or several queries.
struct KeyRange {
  std::int64_t first, last;
};
/// What any of the queries from `t` to `t + rows - 1` sees of `keys` keys. Where none sees any, last ≤ first.
__device__ inline KeyRange keys_seen(const AttentionProblem& problem, std::int64_t keys, std::int64_t t,
                                     std::int64_t rows = 1) {
  KeyRange range{0, keys};
  if (problem.causal) range.last = smaller(range.last, t + rows);
  if (problem.window > 0) {
    range.first = larger(0, t - problem.window + 1);
    range.last = smaller(range.last, t + rows - 1 + problem.window);
  }
  return range;
}

}  // namespace attn::cuda
