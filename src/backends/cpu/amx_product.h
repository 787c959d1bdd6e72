// Products on tiles of bfloat16.
#pragma once

#include "product.h"

namespace attn::backends::cpu {

/// How many bfloat16 stand for a number: for a bfloat16 one; for a float32 three (six products, `highest`), two (three
/// products, `high`) or one (`medium`).
[[nodiscard]] int tile_parts(DType dtype, MatmulPrecision precision);

/// Is a product of this size and dtype one on tiles? On emulated ones all are.
[[nodiscard]] bool takes_tiles(const Product::Size& size, DType dtype, const Multiplication& multiplication);

/// Bytes of the packed weights, and of the scratch that kernels share; kMaxSize where no number tells them.
[[nodiscard]] std::int64_t tile_packed_bytes(const Product::Size& size, DType dtype,
                                             const Multiplication& multiplication);
[[nodiscard]] std::int64_t tile_scratch_bytes(const Product::Size& size, DType dtype,
                                              const Multiplication& multiplication, int threads);

/// As the engine's `multiplication` has it; float32 or bfloat16.
[[nodiscard]] std::unique_ptr<Product> make_tile_product(Engine& engine, const Product::Size& size, DType dtype,
                                                         const Product::Weights& weights,
                                                         const Product::Fusion& fusion);

}  // namespace attn::backends::cpu
