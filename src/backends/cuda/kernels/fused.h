// Kernels for common combinations of operations, which fusion uses in place of one kernel per operation.
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

/// Computes sum = x + residual and y = normalized(sum)·gamma + beta, row by row. The sum is rounded to the dtype before
/// it is normalized, so that the results equal those of Binary and LayerNorm. All pointers except gamma and beta point
/// to (rows, columns). y and sum may alias x or residual.
struct NormStep {
  DType dtype = DType::float32;  ///< float32, float16 or bfloat16
  std::int64_t rows = 0, columns = 0;
  const std::byte* x = nullptr;
  const std::byte* residual = nullptr;  ///< or null: y = normalized(x)
  std::byte* sum = nullptr;             ///< or null: not stored
  NormParameters parameters;
  graph::NormKind kind = graph::NormKind::layer;
  double epsilon = 1e-3;
  std::byte* y = nullptr;
};
void launch_add_layer_norm(const NormStep& step, const Device& device, cudaStream_t stream);

/// Computes y[i] = table[indices[i]] + position[i mod period] for rows of `columns` elements. An out-of-range index is
/// reported, and its row becomes 0 + position.
struct GatherAddStep {
  DType dtype = DType::float32;  ///< float32, float16 or bfloat16
  std::int64_t columns = 0;
  const std::byte* table = nullptr;
  std::int64_t size = 0;  ///< rows of the table
  Array indices;          ///< integers; negative ones count from the end
  std::int64_t count = 0;
  const std::byte* position = nullptr;  ///< (period, columns)
  std::int64_t period = 1;
  std::byte* y = nullptr;  ///< (count, columns)
  Reporter report;
};
void launch_gather_add(const GatherAddStep& step, cudaStream_t stream);

}  // namespace attn::cuda
