// The keys that a query sees, for all attention kernels.
#pragma once

#include <cstdint>

#include "attention.h"
#include "simt.h"

namespace attn::cuda {

__device__ inline std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
__device__ inline std::int64_t larger(std::int64_t x, std::int64_t y) { return x > y ? x : y; }

/// Returns the number of elements of `view` before batch entry (or sequence) `b`.
__device__ inline std::int64_t begin_of(const AttentionProblem& problem, const HeadsView& view, std::int64_t b) {
  return problem.starts == nullptr ? b * view.batch_stride : problem.starts[b] * view.row_stride;
}

/// Returns the number of queries in batch entry (or sequence) `b`, at most T.
__device__ inline std::int64_t queries_of(const AttentionProblem& problem, std::int64_t b) {
  return problem.starts == nullptr ? problem.T : smaller(problem.T, problem.starts[b + 1] - problem.starts[b]);
}

/// Returns the number of filled rows of keys, including padding, at most S.
__device__ inline std::int64_t keys_there(const AttentionProblem& problem, std::int64_t b) {
  if (problem.length != nullptr) return larger(0, smaller(problem.S, *problem.length));
  return problem.starts == nullptr ? problem.S : smaller(problem.S, problem.starts[b + 1] - problem.starts[b]);
}

/// Returns the number of filled rows of keys that are not padding.
__device__ inline std::int64_t keys_of(const AttentionProblem& problem, std::int64_t b) {
  if (problem.lengths == nullptr) return keys_there(problem, b);
  // With lengths there are no starts, so keys_there needs no call if there is no `length` either.
  return larger(0, smaller(problem.length == nullptr ? problem.S : keys_there(problem, b), problem.lengths[b]));
}

/// Returns the position of the first query among the keys.
__device__ inline std::int64_t first_position(const AttentionProblem& problem) {
  return problem.length == nullptr ? 0 : keys_there(problem, 0) - problem.T;
}

/// Reports an out-of-range length. Every thread calls it; the first thread of the grid reports.
__device__ inline void check_length(const AttentionProblem& problem) {
  if (problem.length == nullptr || blockIdx.x > 0 || threadIdx.x > 0) return;
  const std::int64_t length = *problem.length;
  if (length < (problem.causal ? problem.T : 0) || length > problem.S)
    problem.report(Fault::length_beyond_cache, length);
}

/// Returns the entry of key and value that holds row s of batch entry b.
__device__ inline std::int64_t entry_of(const AttentionProblem& problem, std::int64_t b, std::int64_t s) {
  if (problem.sources == nullptr) return b;
  const std::int64_t i = b * problem.S + s, entry = problem.sources[i];
  if (entry >= 0 && entry < problem.entries) return entry;
  problem.report(Fault::source_beyond_cache, entry, i);
  return b;
}

/// Returns whether all masks allow query t of head n to see key s; all four indices are within the arrays.
__device__ inline bool masks_allow(const AttentionProblem& problem, std::int64_t b, std::int64_t n, std::int64_t t,
                                   std::int64_t s) {
  for (int i = 0; i < problem.masks; ++i) {
    const std::int64_t* const step = problem.mask[i].strides;
    if (!problem.mask[i].data[b * step[0] + n * step[1] + t * step[2] + s * step[3]]) return false;
  }
  return true;
}

/// The range [first, last) of keys that lengths, causality and window allow one or several queries to see. Index is an
/// integer type that can hold sums of two positions.
template <typename Index>
struct KeyRange {
  Index first, last;
};
/// Returns the range of the first `keys` keys that any query in [t, t + rows) sees; empty (last ≤ first) if none sees
/// any.
template <typename Index>
__device__ inline KeyRange<Index> keys_seen(const AttentionProblem& problem, Index keys, Index t, Index rows) {
  const Index window = static_cast<Index>(problem.window);
  t += static_cast<Index>(first_position(problem));
  KeyRange<Index> range{0, keys};
  if (problem.causal && t + rows < range.last) range.last = t + rows;
  if (window > 0) {
    if (t - window + 1 > 0) range.first = t - window + 1;
    if (t + rows - 1 + window < range.last) range.last = t + rows - 1 + window;
  }
  return range;
}

}  // namespace attn::cuda
