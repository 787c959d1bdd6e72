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

namespace attn::cuda {

class Device;

/// An array (B, rows, heads, size) with its last axis dense; strides in elements. A part of a packed product has the
/// strides of the whole.
struct HeadsView {
  std::byte* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

/// A bool array that broadcasts to (B, N, T, S); strides in elements, 0 along an axis that repeats.
struct MaskView {
  const bool* data = nullptr;
  std::int64_t strides[4] = {0, 0, 0, 0};
};

inline constexpr int kMaxMasks = 4;

struct AttentionProblem {
  std::int64_t B = 0, T = 0, S = 0, N = 0, K = 0, H = 0, V = 0;
  DType dtype = DType::float32;  ///< of query, key, value, context and scores
  HeadsView query, key, value;
  HeadsView context;             ///< (B, T, N, V)
  std::byte* scores = nullptr;   ///< (B, N, T, S) dense: the probabilities; null where nobody asks
  float* log_sum_exp = nullptr;  ///< (B, N, T): ln Σ exp(scale·q·k) over what is seen; null where nobody asks
  double scale = 1.0;
  graph::AttentionPath path = graph::AttentionPath::fused;
  bool causal = false;      ///< position t sees s ≤ t
  std::int64_t window = 0;  ///< position t sees |t − s| < window; 0: no window
  int masks = 0;
  MaskView mask[kMaxMasks];
  const std::int32_t* lengths = nullptr;  ///< (B) on the device: batch entry b sees s < lengths[b]; null: all of S
  /// (B + 1) on the device: sequence b is the rows from starts[b] to before starts[b + 1] of all arrays, at most T = S;
  /// batch strides mean nothing then, and there are no lengths, masks and scores. Null: batch entries.
  const std::int32_t* starts = nullptr;
  std::int64_t rows = 0;  ///< of all sequences, where there are starts
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
