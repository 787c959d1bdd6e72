#include "prepare.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "attn/base/error.h"
#include "kernels/hot_functions.h"
#include "small_product_launch.h"
#include "tensor_map.h"

namespace attn::cuda {
namespace {

std::int64_t tiles_of(std::int64_t size) { return (size + 63) / 64; }

bool is_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

/// A row-major (rows, columns) matrix, in boxes of 64 rows and 64 columns.
void encode(CUtensorMap& map, DType dtype, const std::byte* data, std::int64_t rows, std::int64_t columns) {
  const std::int64_t row = columns * bytes_of(dtype);
  encode_boxes(map, dtype, data, {columns, 1, rows, 1}, {row, row, row * rows}, 64);
}

SmallTiling tiling_of(const SmallProduct& product, const Device& device) {
  SmallTiling tiling;
  tiling.groups = static_cast<int>(tiles_of(product.M));
  tiling.tiles = static_cast<unsigned>(tiles_of(product.N));
  const auto depth = static_cast<unsigned>(tiles_of(product.K)), blocks = static_cast<unsigned>(device.processors());
  tiling.parts = *std::ranges::find_if(
      kPartsOfSmall, [&](unsigned parts) { return parts == 1 || (parts <= depth && parts * tiling.tiles <= blocks); });
  return tiling;
}

}  // namespace

SmallProduct small_product_of(const graph::Linear& op, const Step& step) {
  const Operand &x = step.inputs[0], &kernel = step.inputs[1];
  SmallProduct product;
  product.dtype = x.dtype;
  product.M = x.shape.slice(0, x.shape.rank() - op.contracted).size();
  product.K = kernel.shape.slice(0, op.contracted).size();
  product.N = kernel.shape.slice(op.contracted, kernel.shape.rank()).size();
  product.x = x.data;
  product.kernel = kernel.data;
  product.weights_are_still = kernel.still && (!op.bias || step.inputs[2].still);
  if (op.bias) product.bias = step.inputs[2].data;
  if (op.residual) product.residual = step.inputs.back().data;
  product.activation = op.activation;
  product.out = step.outputs[0].data;
  return product;
}

std::string why_not_small_product(const SmallProduct& product, const Device& device) {
  if (product.dtype != DType::float16 && product.dtype != DType::bfloat16) return "not in half precision";
  if (device.architecture() != 90 || !kHasSm90Code) return "needs sm_90 and its code";
  if (product.M > kMostRowsOfSmall) return "more than 128 rows";
  if (product.M == 0 || product.N == 0 || product.K == 0) return "an axis is empty";
  if (product.N % 8 != 0 || product.K % 8 != 0 || !is_aligned(product.x) || !is_aligned(product.kernel))
    return "rows are not whole 16-byte vectors";
  for (const std::byte* row : {product.bias, product.residual}) {
    if (!is_aligned(row)) return "rows are not whole 16-byte vectors";
  }
  if (!is_aligned(product.out)) return "rows are not whole 16-byte vectors";
  if (std::max(product.N, product.K) > std::int64_t{1} << 24) return "a side is above 2^24";
  return is_hot(product.activation.fn) ? "" : "its activation has no fast code";
}

Launch prepare_small_product(const SmallProduct& product, const Device& device) {
  SmallProductMaps maps;
  encode(maps.x, product.dtype, product.x, product.M, product.K);
  encode(maps.kernel, product.dtype, product.kernel, product.K, product.N);
  SmallTiling tiling = tiling_of(product, device);
  for (;;) {
    Launch launch = product.dtype == DType::float16 ? make_small_product<__half>(product, maps, tiling)
                                                    : make_small_product<__nv_bfloat16>(product, maps, tiling);
    if (launch) return launch;
    tiling.parts = *std::ranges::find_if(kPartsOfSmall, [&](unsigned parts) { return parts < tiling.parts; });
  }
}

}  // namespace attn::cuda
