// Small GEMMs (few rows) on Hopper, in one launch with their epilogue.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/graph/op.h"

namespace attn::cuda {

/// out (M, N) = activation(x (M, K) · kernel (K, N) + bias) + residual, rounded. All operands are row-major and of one
/// dtype.
struct SmallProduct {
  std::int64_t M = 0, N = 0, K = 0;
  DType dtype = DType::float16;
  const std::byte *x = nullptr, *kernel = nullptr;
  const std::byte* bias = nullptr;      ///< (N), or null
  const std::byte* residual = nullptr;  ///< (M, N), or null; `out` may alias it
  graph::Unary activation;
  std::byte* out = nullptr;
  bool weights_are_still = false;  ///< no step of a pass writes to kernel and bias
};

}  // namespace attn::cuda
