// The epilogue of a matrix product whose kernel does not apply it itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/graph/op.h"

namespace attn::cuda {

/// Computes x = activation(x + bias) + residual in place, for any activation and floating-point dtype.
struct EpilogueStep {
  std::byte* x = nullptr;  ///< (rows, columns)
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::float32;
  const std::byte* bias = nullptr;  ///< (columns) or null
  graph::Unary activation;
  const std::byte* residual = nullptr;  ///< (rows, columns) or null
};
void launch_epilogue(const EpilogueStep& step, cudaStream_t stream);

}  // namespace attn::cuda
