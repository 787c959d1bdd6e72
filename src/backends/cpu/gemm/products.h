// Selection of the method for a product with a weight.
#pragma once

#include "kernel.h"
#include "product.h"

namespace attn::backends::cpu {

/// Returns the best method; null if none supports the query.
[[nodiscard]] const ProductInfo* find_product(const ProductQuery& query);

/// Makes a product by the best method, which must exist: for float32, or for a product that a kernel's `why_not`
/// accepted.
[[nodiscard]] std::unique_ptr<Product> make_product(Engine& engine, const Product::Size& size, DType dtype,
                                                    const Product::Weights& weights, const Product::Fusion& fusion);

/// Adds the needs of a product with the weight in `input`, which other kernels may find packed.
void add_shared_product(const StepInfo& step, const ProductQuery& query, std::size_t input, bool is_transposed,
                        MemoryNeeds& needs);
/// Adds the needs of a product with a private weight.
void add_product(const StepInfo& step, const ProductQuery& query, MemoryNeeds& needs);

}  // namespace attn::backends::cpu
