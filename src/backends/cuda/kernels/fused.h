// Kernels for what models do together: fusion calls them in place of the operations one by one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"
#include "attn/graph/op.h"
#include "device.h"
#include "fault.h"
#include "norm_parameters.h"
#include "number.h"

namespace attn::cuda {

/// sum = x + residual, y = normalized(sum)·gamma + beta, row by row. The sum is rounded to the dtype before it is
/// normalized, so that the numbers are those of Binary and LayerNorm. Every pointer is to (rows, columns) but gamma and
/// beta. y, and sum, may be the memory of x or of residual.
struct NormStep {
  DType dtype = DType::float32;  ///< float32, float16 or bfloat16
  std::int64_t rows = 0, columns = 0;
  const std::byte* x = nullptr;
  const std::byte* residual = nullptr;  ///< or null: y = normalized(x)
  std::byte* sum = nullptr;             ///< or null: not kept
  NormParameters parameters;
  graph::NormKind kind = graph::NormKind::layer;
  double epsilon = 1e-3;
  std::byte* y = nullptr;
};
void launch_add_layer_norm(const NormStep& step, const Device& device, cudaStream_t stream);

/// y[i] = table[indices[i]] + position[i mod period], rows of `columns` numbers. An index that is out of range is
/// reported, and its row is 0 + position.
struct GatherAddStep {
  DType dtype = DType::float32;  ///< float32, float16 or bfloat16
  std::int64_t columns = 0;
  const std::byte* table = nullptr;
  std::int64_t size = 0;  ///< rows of the table
  Array indices;          ///< integers; negative ones count from the back
  std::int64_t count = 0;
  const std::byte* position = nullptr;  ///< (period, columns)
  std::int64_t period = 1;
  std::byte* y = nullptr;  ///< (count, columns)
  Reporter report;
};
void launch_gather_add(const GatherAddStep& step, cudaStream_t stream);

}  // namespace attn::cuda
