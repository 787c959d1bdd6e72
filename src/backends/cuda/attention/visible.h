// The keys that a query sees, for every attention kernel.
#pragma once

#include <cstdint>

#include "attention.h"
#include "simt.h"

namespace attn::cuda {

__device__ inline std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
__device__ inline std::int64_t larger(std::int64_t x, std::int64_t y) { return x > y ? x : y; }

/// The number of elements of `view` before batch entry, or sequence, `b`.
__device__ inline std::int64_t begin_of(const AttentionProblem& problem, const HeadsView& view, std::int64_t b) {
  return problem.starts == nullptr ? b * view.batch_stride : problem.starts[b] * view.row_stride;
}

/// The number of queries, of T, in batch entry, or sequence, `b`.
__device__ inline std::int64_t queries_of(const AttentionProblem& problem, std::int64_t b) {
  return problem.starts == nullptr ? problem.T : smaller(problem.T, problem.starts[b + 1] - problem.starts[b]);
}

/// The number of filled rows of keys, of S, including padding.
__device__ inline std::int64_t keys_there(const AttentionProblem& problem, std::int64_t b) {
  if (problem.length != nullptr) return larger(0, smaller(problem.S, *problem.length));
  return problem.starts == nullptr ? problem.S : smaller(problem.S, problem.starts[b + 1] - problem.starts[b]);
}

/// The number of filled keys that are not padding.
__device__ inline std::int64_t keys_of(const AttentionProblem& problem, std::int64_t b) {
  if (problem.lengths == nullptr) return keys_there(problem, b);
  // Sequences that share a batch entry have no lengths.
  return larger(0, smaller(problem.length == nullptr ? problem.S : keys_there(problem, b), problem.lengths[b]));
}

/// The position of the first query among the keys.
__device__ inline std::int64_t first_position(const AttentionProblem& problem) {
  return problem.length == nullptr ? 0 : keys_there(problem, 0) - problem.T;
}

/// Reports an out-of-range length. Every kernel calls it in each thread.
__device__ inline void check_length(const AttentionProblem& problem) {
  if (problem.length == nullptr || blockIdx.x > 0 || threadIdx.x > 0) return;
  const std::int64_t length = *problem.length;
  if (length < (problem.causal ? problem.T : 0) || length > problem.S)
    problem.report(Fault::length_beyond_cache, length);
}

/// The entry of key and value that holds row s of batch entry b.
__device__ inline std::int64_t entry_of(const AttentionProblem& problem, std::int64_t b, std::int64_t s) {
  if (problem.sources == nullptr) return b;
  const std::int64_t i = b * problem.S + s, entry = problem.sources[i];
  if (entry >= 0 && entry < problem.entries) return entry;
  problem.report(Fault::source_beyond_cache, entry, i);
  return b;
}

/// Returns whether all masks let query t of head n see key s; all four indices are within the arrays.
__device__ inline bool masks_allow(const AttentionProblem& problem, std::int64_t b, std::int64_t n, std::int64_t t,
                                   std::int64_t s) {
  for (int i = 0; i < problem.masks; ++i) {
    const std::int64_t* const step = problem.mask[i].strides;
    if (!problem.mask[i].data[b * step[0] + n * step[1] + t * step[2] + s * step[3]]) return false;
  }
  return true;
}

/// The keys [first, last) that lengths, causal and window let one or several queries see. Index is an integer type that
/// holds sums of two positions.
template <typename Index>
struct KeyRange {
  Index first, last;
};
/// The keys, of `keys`, that any query in [t, t + rows) sees. If none sees any, last ≤ first.
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
