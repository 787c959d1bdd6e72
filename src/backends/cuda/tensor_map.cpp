#include "tensor_map.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <algorithm>

#include "attn/base/error.h"
#include "device.h"

namespace attn::cuda {
namespace {

/// Returns the driver's function, looked up at run time so that the library is needed only for a call.
PFN_cuTensorMapEncodeTiled_v12000 encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
        "looking for cuTensorMapEncodeTiled");
  if (found != cudaDriverEntryPointSuccess) throw internal_error("the driver has no cuTensorMapEncodeTiled");
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

}  // namespace

void encode_boxes(CUtensorMap& map, DType dtype, const std::byte* data, const std::array<std::int64_t, 4>& sizes,
                  const std::array<std::int64_t, 3>& strides, int box_rows) {
  std::array<cuuint64_t, 4> all_sizes{};
  std::array<cuuint64_t, 3> all_strides{};
  std::ranges::copy(sizes, all_sizes.begin());
  std::ranges::copy(strides, all_strides.begin());
  const cuuint32_t box[] = {64, 1, static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  const CUresult result = encode_tiled()(
      &map, dtype == DType::float16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4,
      const_cast<std::byte*>(data), all_sizes.data(), all_strides.data(), box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw internal_error("cuTensorMapEncodeTiled refuses an array: {}", static_cast<int>(result));
}

}  // namespace attn::cuda
