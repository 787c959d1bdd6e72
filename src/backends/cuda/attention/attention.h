// Scaled dot-product attention on the GPU: one description of the problem, and a table of kernels. Each kernel either
// supports a problem or gives the reason why it does not.
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

/// An array (B, rows, heads, size) whose last axis is dense; strides in elements. A slice of a packed projection has
/// the strides of the whole array.
struct HeadsView {
  std::byte* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

/// An array that broadcasts to (B, N, T, S); strides in elements, 0 along broadcast axes.
template <typename T>
struct BroadcastToScores {
  T* data = nullptr;
  std::int64_t strides[4] = {0, 0, 0, 0};

  __host__ __device__ std::int64_t offset(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s) const {
    return b * strides[0] + n * strides[1] + t * strides[2] + s * strides[3];
  }
};
using MaskView = BroadcastToScores<const bool>;
using BiasView = BroadcastToScores<std::byte>;

inline constexpr int kMaxMasks = 4;

struct AttentionProblem {
  std::int64_t B = 0, T = 0, S = 0, N = 0, K = 0, H = 0, V = 0;
  DType dtype = DType::float32;      ///< dtype of query, bias, context and scores
  DType key_dtype = DType::float32;  ///< dtype of key and value
  HeadsView query, key, value;
  HeadsView context;             ///< (B, T, N, V)
  std::byte* scores = nullptr;   ///< (B, N, T, S) dense: the probabilities; null if not requested
  float* log_sum_exp = nullptr;  ///< (B, N, T): ln Σ exp(scale·q·k) over the visible keys; null if not requested
  double scale = 1.0;
  double soft_cap = 0.0;  ///< a score x becomes soft_cap·tanh(x/soft_cap); 0: no cap
  BiasView bias;          ///< added to the scores after the cap; null: none
  graph::AttentionPath path = graph::AttentionPath::fused;
  bool causal = false;      ///< position p sees s ≤ p
  std::int64_t window = 0;  ///< position p sees |p − s| < window; 0: no window
  int masks = 0;
  MaskView mask[kMaxMasks];
  const std::int32_t* lengths = nullptr;  ///< (B) on the device: batch entry b sees s < lengths[b]; null: all S keys
  /// (B + 1) on the device: sequence b occupies the rows [starts[b], starts[b + 1]) of all arrays, at most T = S rows.
  /// Batch strides are then unused, and there are no lengths, masks or scores. Null: batch entries.
  const std::int32_t* starts = nullptr;
  std::int64_t rows = 0;  ///< rows of all sequences, if there are starts
  /// One number on the device: how many of the S rows of keys and values are filled. Query t then has the position
  /// length − T + t. Null: all S rows are filled, and query t has position t. An out-of-range length is reported.
  const std::int32_t* length = nullptr;
  /// (B, S) on the device: row s of batch entry b is read from entry sources[b, s] of the `entries` that key and value
  /// have. Null: from entry b. An out-of-range entry is reported.
  const std::int32_t* sources = nullptr;
  std::int64_t entries = 0;
  Reporter report;
};

/// One kernel.
struct AttentionKernel {
  std::string_view name;  ///< "flash sm90", "flash mma", "flash fma", "plain"
  /// Returns the reason why the kernel does not support the problem, or "".
  std::string (*why_not)(const AttentionProblem& problem, const Device& device);
  /// Prepares the kernel once (tensor maps, launch shape), and returns the function that puts it on a stream.
  Launch (*prepare)(const AttentionProblem& problem, const Device& device);
};

/// Returns the kernels, fastest first. The last one supports every problem.
[[nodiscard]] std::span<const AttentionKernel> attention_kernels();

}  // namespace attn::cuda
