// Which of the products by a weight is made for which size.
#pragma once

#include "kernel.h"
#include "product.h"

namespace attn::backends::cpu {

/// The best product for this; null where none takes it.
[[nodiscard]] const ProductInfo* find_product(const ProductQuery& query);

/// The best product for what has one: float32, or what a kernel's `why_not` let through.
[[nodiscard]] std::unique_ptr<Product> make_product(Engine& engine, const Product::Size& size, DType dtype,
                                                    const Product::Weights& weights, const Product::Fusion& fusion);

/// Adds the memory of a product by the weight that input is, as others that read the weight may find it packed.
void add_shared_product(const StepInfo& step, const ProductQuery& query, std::size_t input, bool is_transposed,
                        Needs& needs);
/// Adds the memory of a product by a weight of its own.
void add_product(const StepInfo& step, const ProductQuery& query, Needs& needs);

}  // namespace attn::backends::cpu
