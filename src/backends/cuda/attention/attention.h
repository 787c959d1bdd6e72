// Scaled dot-product attention on the GPU: one description of the problem, and a table of kernels that take it or say
// why not.
//
// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/graph/op.h"
#include "kernel.h"
#include "kernels/fault.h"

namespace attn::cuda {

class Device;

/// An array (B, rows, heads, size) with its last axis dense; strides in elements. A part of a packed product has the
/// strides of the whole.
struct HeadsView {
  std::byte* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

/// An array that broadcasts to (B, N, T, S); strides in elements, 0 along an axis that repeats.
template <typename T>
struct OverScores {
  T* data = nullptr;
  std::int64_t strides[4] = {0, 0, 0, 0};

  __host__ __device__ std::int64_t offset(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s) const {
    return b * strides[0] + n * strides[1] + t * strides[2] + s * strides[3];
  }
};
using MaskView = OverScores<const bool>;
using BiasView = OverScores<std::byte>;

inline constexpr int kMaxMasks = 4;

struct AttentionProblem {
  std::int64_t B = 0, T = 0, S = 0, N = 0, K = 0, H = 0, V = 0;
  DType dtype = DType::float32;      ///< of query, bias, context and scores
  DType key_dtype = DType::float32;  ///< of key and value
  HeadsView query, key, value;
  HeadsView context;             ///< (B, T, N, V)
  std::byte* scores = nullptr;   ///< (B, N, T, S) dense: the probabilities; null where nobody asks
  float* log_sum_exp = nullptr;  ///< (B, N, T): ln Σ exp(scale·q·k) over what is seen; null where nobody asks
  double scale = 1.0;
  double soft_cap = 0.0;  ///< a score x becomes soft_cap·tanh(x/soft_cap); 0: x as it is
  BiasView bias;          ///< is added to the scores then; null: none
  graph::AttentionPath path = graph::AttentionPath::fused;
  bool causal = false;      ///< position p sees s ≤ p
  std::int64_t window = 0;  ///< position p sees |p − s| < window; 0: no window
  int masks = 0;
  MaskView mask[kMaxMasks];
  const std::int32_t* lengths = nullptr;  ///< (B) on the device: batch entry b sees s < lengths[b]; null: all of S
  /// (B + 1) on the device: sequence b is the rows from starts[b] to before starts[b + 1] of all arrays, at most T = S;
  /// batch strides mean nothing then, and there are no lengths, masks and scores. Null: batch entries.
  const std::int32_t* starts = nullptr;
  std::int64_t rows = 0;  ///< of all sequences, where there are starts
  /// One number on the device: the rows of keys and values that are there, of S, and query t stands at the position
  /// length − T + t. Null: S are there, and query t stands at t. A number that is out of range is reported.
  const std::int32_t* length = nullptr;
  /// (B, S) on the device: row s of batch entry b is that row of entry sources[b, s], of `entries` that key and value
  /// have. Null: of entry b. One that is out of range is reported.
  const std::int32_t* sources = nullptr;
  std::int64_t entries = 0;
  Reporter report;
};

/// One kernel.
struct AttentionKernel {
  std::string_view name;  ///< "flash sm90", "flash mma", "flash fma", "plain"
  /// Why it does not take the problem, or "".
  std::string (*why_not)(const AttentionProblem& problem, const Device& device);
  /// Makes it ready once (tensor maps, launch shape) and gives what puts it on a stream.
  Launch (*prepare)(const AttentionProblem& problem, const Device& device);
};

/// The fastest first; the last takes every problem.
[[nodiscard]] std::span<const AttentionKernel> attention_kernels();

}  // namespace attn::cuda
