// Which of the products by a weight is made for which size.
#pragma once

#include "product.h"

namespace attn::backends::cpu {

/// Who computes a product, which is who packs its weights. Where there is AVX-512, panels are never slower than
/// oneDNN's: GFLOP/s of one core (of 229) for 48 rows, 512 x 2048 and 2048 x 512, weights not in cache: 184 and 177,
/// oneDNN, which does not fetch ahead, 133 and 130; with hundreds of rows both reach 200, but panels are cut into
/// pieces of columns too, so that threads end together.
enum class ProductKind : std::uint8_t { panels, tiles, onednn };
[[nodiscard]] ProductKind product_kind(const Product::Size& size, DType dtype, const Multiplication& multiplication);
/// Does a map, computed in float32, take a kernel in bfloat16 as it is? float16 takes too long to be widened.
[[nodiscard]] bool keeps_bfloat16(const graph::Linear& op, const Shape& x, const Shape& kernel,
                                  const Multiplication& multiplication);
/// Bytes of the packed weights, which are of the dtype `weights`.
[[nodiscard]] std::int64_t packed_bytes(const Product::Size& size, DType dtype, DType weights,
                                        const Multiplication& multiplication);

/// Packs the weights and the bias. x, y, bias and residual are of `dtype`, float32 or bfloat16.
[[nodiscard]] std::unique_ptr<Product> make_product(Engine& engine, const Product::Size& size, DType dtype,
                                                    const Product::Weights& weights, const Product::Fusion& fusion);

}  // namespace attn::backends::cpu
