// Products of few rows on Hopper in one launch with what follows them: an activation that cuBLASLt does not have, or
// the layer normalization of the sum with the residual.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/graph/op.h"

namespace attn::cuda {

/// sum (M, N) = activation(x (M, K) · kernel (K, N) + bias) + residual, rounded; out = sum, or where there is a norm,
/// out = normalized(sum)·gamma + beta over the N columns. All row-major and of one dtype.
struct SmallProduct {
  std::int64_t M = 0, N = 0, K = 0;
  DType dtype = DType::float16;
  const std::byte *x = nullptr, *kernel = nullptr;
  const std::byte* bias = nullptr;      ///< (N), or null
  const std::byte* residual = nullptr;  ///< (M, N), or null; `out`, or `sum`, may be this memory
  graph::Unary activation;              ///< linear where there is a norm
  const graph::LayerNorm* norm = nullptr;
  const std::byte *gamma = nullptr, *beta = nullptr;  ///< (N), or null
  std::byte* sum = nullptr;                           ///< of a norm, (M, N), or null where nobody else reads it
  std::byte* out = nullptr;      ///< (M, N); that of a norm may lie over x, but else only as the residual does
  bool kernel_is_still = false;  ///< no step of a pass writes to the kernel
};

}  // namespace attn::cuda
